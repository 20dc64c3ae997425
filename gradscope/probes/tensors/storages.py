"""The memory that a backward's operators work on, as numbered storages: each is copied before its first use.

The surprise: a dead storage's address is used again. A weak reference keeps the address taken while a backward runs,
and frees the bytes as before.
"""

from __future__ import annotations

import ctypes
import hashlib
import shutil
from pathlib import Path
from typing import Any

import torch

from gradscope.probes.core.sink import Sink
from gradscope.probes.tensors.metadata import storage_of
from gradscope.torch_internals.tensors import NO_DISPATCH_OF_ITS_OWN, free_weak_reference, is_wrapped, weak_reference
from gradscope.torch_internals.tensors import unwrapped as one_level_off

_LARGEST = 9 * 10**8  # bytes of one storage: SQLite takes values of less than 1e9
_RESERVE = 5 * 10**8  # bytes that stay free on the disk
_BATCH = 64 * 10**6  # bytes that may wait to be written
_DROPPED = "tensors that --tensors had no room for"


class CannotRepeatError(Exception):
    """An operator's argument is not plain memory or plain data."""


class StorageBudget:
    """How many bytes of tensors may still be stored."""

    def __init__(self, sink: Sink, folder: Path, limit: int) -> None:
        self._sink, self._folder, self._left, self._waiting = sink, folder, limit, 0

    def take(self, size: int) -> bool:
        """Ask for room; what is refused is counted as dropped."""
        # A journal holds each byte a second time until it is moved into the file.
        if size > min(self._left, _LARGEST) or shutil.disk_usage(self._folder).free - 2 * size < _RESERVE:
            self._sink.drop(_DROPPED)
            return False
        self._left -= size
        return True

    def wrote(self, size: int) -> None:
        """Let the bytes go to the file before too many of them wait in memory."""
        self._waiting += size
        if self._waiting > _BATCH:
            self._waiting = 0
            self._sink.commit()


class Memory:
    """The storages of one backward, numbered from 0 as they are met."""

    def __init__(self, sink: Sink, backward: int, budget: StorageBudget) -> None:
        self._sink, self._backward, self._budget = sink, backward, budget
        self._numbers: dict[int, int] = {}
        self._weak: list[Any] = []
        self._expected: set[int] = set()  # numbered, but not used so far
        self.stored: set[int] = set()

    def release(self) -> None:
        """Give the addresses free."""
        for address in self._weak:
            free_weak_reference(address)
        self._weak.clear()

    def expect(self, tensor: torch.Tensor) -> int | None:
        """Number a tensor's storage, which is copied only if it will be used."""
        if not is_its_bytes(tensor):
            return None
        number, new = self._number(tensor.untyped_storage())
        if new:
            self._expected.add(number)
        return number

    def place(self, tensor: torch.Tensor, made: bool = False) -> dict[str, Any]:
        """Where a tensor lies. A storage that is met for the first time is copied, unless an operator has `made` it."""
        if not is_its_bytes(tensor):
            raise CannotRepeatError(type(tensor).__name__)
        storage = tensor.untyped_storage()
        number, new = self._number(storage)
        if (new and not made) or number in self._expected:
            self._expected.discard(number)
            self._copy(number, storage)
        place = {
            "tensor": number,
            "offset": tensor.storage_offset(),
            "shape": list(tensor.shape),
            "strides": list(tensor.stride()),
            **kind_of(tensor),
        }
        return place | {bit: True for bit, on in (("conj", tensor.is_conj()), ("neg", tensor.is_neg())) if on}

    def add(self, data: bytes) -> int:
        """Number and store bytes that are no tensor of the program."""
        number = len(self._weak)
        self._weak.append(weak_reference(torch.UntypedStorage(0)))
        self._store(number, data)
        return number

    def _number(self, storage: torch.UntypedStorage) -> tuple[int, bool]:
        known = self._numbers.get(storage._cdata)
        if known is not None:
            return known, False
        number = self._numbers[storage._cdata] = len(self._weak)
        self._weak.append(weak_reference(storage))
        return number, True

    def _copy(self, number: int, storage: torch.UntypedStorage) -> None:
        if self._budget.take(storage.nbytes()):
            self._store(number, bytes_of(storage.cpu()))

    def _store(self, number: int, data: bytes) -> None:
        self.stored.add(number)
        self._sink.add("storage", (self._backward, number, data))
        self._budget.wrote(len(data))


def is_its_bytes(tensor: torch.Tensor) -> bool:
    """Whether a tensor is its bytes: no wrapper, not sparse, nested or meta."""
    return (
        type(tensor).__torch_dispatch__ is NO_DISPATCH_OF_ITS_OWN
        and tensor.layout is torch.strided
        and not tensor.is_meta
        and not tensor.is_nested
        and not tensor.is_quantized
        and not tensor._is_zerotensor()
        and not is_wrapped(tensor)
        and storage_of(tensor)[0] != 0  # as with the wrappers of is_grads_batched
    )


def kind_of(tensor: torch.Tensor) -> dict[str, str]:
    """A tensor's dtype and device."""
    return {"dtype": str(tensor.dtype).removeprefix("torch."), "device": str(tensor.device)}


def unwrapped(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor below the levels of torch.func."""
    while is_wrapped(tensor):
        tensor = one_level_off(tensor)
    return tensor


def bytes_of(storage: torch.UntypedStorage) -> bytes:
    """A copy of a storage in the processor's memory."""
    return ctypes.string_at(storage.data_ptr(), storage.nbytes()) if storage.nbytes() else b""


def digest(tensor: torch.Tensor) -> str:
    """BLAKE2b, 8 bytes, of a tensor's elements row by row."""
    whole = tensor.detach().resolve_conj().resolve_neg().contiguous().cpu()
    size = whole.numel() * whole.element_size()
    data = (ctypes.c_char * size).from_address(whole.data_ptr()) if size else b""
    return hashlib.blake2b(data, digest_size=8).hexdigest()
