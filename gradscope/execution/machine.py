"""The memory of a backward, and operators that work on it.

A recording is not trusted: an operator gets only tensors that lie inside their memory, and none that opens files.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

import torch

from gradscope.model.dispatch import Constant, Dispatch, Place, StoredBackward, Zeros
from gradscope.probes.operators.tensor_data import written
from gradscope.probes.tensors.storages import bytes_of, digest
from gradscope.torch_internals.dynamo import is_operator
from gradscope.torch_internals.tensors import conj_view, neg_view, zero_without_memory

NAME = re.compile(r"\w+\.\w+\.\w+")


class NotRepeatableError(Exception):
    """An operator call cannot be made again; the text says why."""


class Machine:
    """Storages by number: as stored, or as made by the operators that ran so far."""

    def __init__(self, stored: StoredBackward) -> None:
        self._bytes = stored.storages
        self._live: dict[int, torch.UntypedStorage] = {}
        self.made: list[str] = []  # digests of all results so far

    def call(self, dispatch: Dispatch) -> list[str]:
        """Make a call again. Returns what is not as recorded, in words. Raises NotRepeatableError."""
        if dispatch.arguments is None or dispatch.keywords is None:
            raise NotRepeatableError("it works on tensors that are no plain memory (sparse, wrapped)")
        operator = find_operator(dispatch.operator)
        arguments = [self.value(value) for value in dispatch.arguments]
        keywords = {name: self.value(value) for name, value in dispatch.keywords.items()}
        self._prepare_random_numbers(dispatch, keywords)
        try:
            results = operator(*arguments, **keywords)
        except Exception as error:
            raise NotRepeatableError(f"it raised {type(error).__name__}: {error}") from error
        if results is None:
            results = written(operator, arguments, keywords)
        if dispatch.results is None:
            raise NotRepeatableError("its result is no plain memory (sparse, wrapped)")
        return list(self._take(dispatch.results, results))

    def value(self, value: Any) -> Any:
        """An argument as torch wants it."""
        if isinstance(value, Place):
            return self.tensor(value)
        if isinstance(value, Zeros):
            kind = value.type
            return zero_without_memory(kind.shape, dtype=dtype_of(kind.dtype), device=kind.device)
        if isinstance(value, tuple):
            return [self.value(one) for one in value]
        return constant(value) if isinstance(value, Constant) else value

    def tensor(self, place: Place) -> torch.Tensor:
        """The tensor at a place. Raises NotRepeatableError when there is nothing."""
        storage, dtype = self.storage(place.storage, place.type.device), dtype_of(place.type.dtype)
        if min(place.type.shape, default=1) and _end(place) * dtype.itemsize > storage.nbytes():
            raise NotRepeatableError("its argument lies outside of its memory")
        made = torch.empty(0, dtype=dtype, device=storage.device)
        made.set_(storage, place.offset, place.type.shape, place.strides)
        made = conj_view(made) if place.conj else made
        return neg_view(made) if place.neg else made

    def storage(self, number: int, device: str = "cpu") -> torch.UntypedStorage:
        """A storage; its bytes are copied, so that they lie as torch aligns them."""
        if number not in self._live:
            if number not in self._bytes:
                raise NotRepeatableError("it needs a tensor that was not stored, or that no operator made again")
            data = self._bytes[number]
            memory = torch.empty(len(data), dtype=torch.uint8, device=device)
            if data:
                memory.copy_(torch.frombuffer(bytearray(data), dtype=torch.uint8))
            self._live[number] = memory.untyped_storage()
        return self._live[number]

    def bytes(self, number: int, device: str) -> bytes:
        """A copy of a storage as it is now."""
        return bytes_of(self.storage(number, device).cpu())

    def put(self, place: Place, tensor: torch.Tensor) -> None:
        """Make a tensor lie at a place, in memory of its own."""
        memory = torch.empty(_end(place), dtype=tensor.dtype, device=tensor.device)
        memory.as_strided(place.type.shape, place.strides, place.offset).copy_(tensor)
        self._live[place.storage] = memory.untyped_storage()

    def forget(self, numbers: Iterable[int]) -> None:
        """Free storages that nothing needs any more."""
        for number in numbers:
            self._live.pop(number, None)

    def _take(self, recorded: Any, results: Any) -> Iterator[str]:
        if isinstance(recorded, Place) and isinstance(results, torch.Tensor):
            yield from self._take_tensor(recorded, results)
        elif isinstance(recorded, Zeros) and isinstance(results, torch.Tensor) and results._is_zerotensor():
            return
        elif isinstance(recorded, tuple) and isinstance(results, (list, tuple)) and len(recorded) == len(results):
            for one, result in zip(recorded, results, strict=True):
                yield from self._take(one, result)
        elif isinstance(recorded, (Place, tuple)) or repr(recorded) != repr(results):
            yield f"its result is {results!r:.40}"

    def _take_tensor(self, place: Place, result: torch.Tensor) -> Iterator[str]:
        if tuple(result.shape) != place.type.shape or result.dtype != dtype_of(place.type.dtype):
            yield f"its result is {result.dtype} {list(result.shape)}"
            return
        storage = result.untyped_storage()
        known = self._live.get(place.storage)
        lies = (tuple(result.stride()), result.storage_offset()) == (place.strides, place.offset)
        if known is None and lies:
            self._live[place.storage] = storage
        elif known is None:
            self.put(place, result)
        elif known._cdata != storage._cdata:
            self.tensor(place).copy_(result)
        if place.digest is not None:
            self.made.append(digest(result))
            if self.made[-1] != place.digest:
                yield "its result has other bits"

    def _prepare_random_numbers(self, dispatch: Dispatch, keywords: dict[str, Any]) -> None:
        if dispatch.generator is not None:
            generator = keywords.get("generator") or torch.default_generator
            generator.set_state(torch.frombuffer(bytearray(self.bytes(dispatch.generator, "cpu")), dtype=torch.uint8))


def find_operator(name: str) -> Any:
    """The operator of that name. Raises NotRepeatableError when this torch has none, or it must not be called."""
    if NAME.fullmatch(name) is None:
        raise NotRepeatableError("it is a higher-order operator")
    found: Any = torch.ops
    for part in name.split("."):
        found = getattr(found, part, None)
    if not is_operator(found):
        raise NotRepeatableError(f"torch {torch.__version__} has no such operator here")
    if any("file" in argument.name for argument in found._schema.arguments):
        raise NotRepeatableError("it opens a file")
    return found


def constant(value: Constant) -> Any:
    """A dtype, layout, memory format, device or generator. Raises NotRepeatableError for a name that torch lacks."""
    if value.kind == "device":
        return torch.device(value.text)
    if value.kind == "generator":
        return torch.Generator(value.text)
    found = getattr(torch, value.text, None)
    if not isinstance(found, getattr(torch, value.kind)):
        raise NotRepeatableError(f"torch has no {value.kind} {value.text}")
    return found


def dtype_of(name: str) -> torch.dtype:
    """A dtype by its name."""
    found: torch.dtype = constant(Constant("dtype", name))
    return found


def _end(place: Place) -> int:
    """How many elements of memory a tensor needs."""
    reach = ((size - 1) * stride for size, stride in zip(place.type.shape, place.strides, strict=True))
    return place.offset + sum(reach) + 1 if min(place.type.shape, default=1) else place.offset
