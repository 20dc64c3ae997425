"""What a block of operators is: flat numbers, a head for each operator and some more for each tensor that it writes.

The surprise: what a block calls by a number (a module call, a storage) counts anew in each, so that equal steps have
equal blocks.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch

from gradscope.probes.modules import Call
from gradscope.probes.tensors import storage_of
from gradscope.probes.threads import Thread
from gradscope.signals import let_through

HEAD, WRITE = 5, 4  # numbers per operator, and per tensor written
PLAIN, NO_GRAD = -1, -2  # in place of a node, for operators outside of a backward

# As untyped_storage()._cdata, without an object for the storage.
_storage_id: Any = torch._C._storage_id  # type: ignore[attr-defined]

Places = tuple[list[int], list[int], list[int]]


def ends_of(numbers: list[int]) -> dict[int, int]:
    """The number of each operator of a block, by the place where its numbers end."""
    ends: dict[int, int] = {}
    at = 0
    while at < len(numbers):
        at += HEAD + WRITE * numbers[at + HEAD - 1]
        ends[at] = len(ends)
    return ends


def enter_call(thread: Thread) -> None:
    """The module call that runs has changed: number it by its first operator in the open block."""
    call = thread.last_call = thread.call
    thread.place = 0 if call is None else thread.calls.setdefault(call, len(thread.calls) + 1)


def places_of(calls: Iterable[Call]) -> Places:
    """What tells the module calls of one block from those of another: their places, outermost calls and modules."""
    roots: dict[int, int] = {}
    modules: dict[int, int] = {}
    return (
        [call.place for call in calls],
        [roots.setdefault(call.root, len(roots)) for call in calls],
        [modules.setdefault(call.module, len(modules)) for call in calls],
    )


def numbered(thread: Thread, tensor: torch.Tensor) -> tuple[int, int]:
    """The storage's number in the open block, and the tensor's version less the first one written; -1 for none."""
    try:
        address, version = _storage_id(tensor), tensor._version
    except (RuntimeError, NotImplementedError) as error:  # it has no storage to share, or it is an inference tensor
        let_through(error)
        address, version = storage_of(tensor)[0], -1 if tensor.is_inference() else tensor._version
    versions = thread.versions
    storage = thread.tensors.get(address)
    if storage is None or -1 < version < versions[storage]:  # the address of a dead storage is used again
        storage = thread.tensors[address] = len(versions)
        versions.append(max(version, 0))
        thread.storages.append(address)
    return storage, version if version < 0 else version - versions[storage]
