"""What a block of operators is: flat numbers, a head for each operator and some more for each tensor that it writes.

The surprise: what a block calls by a number (a module call, a storage) counts anew in each, so that equal steps have
equal blocks.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import torch

from gradscope.probes.core.module_call import RunningModuleCall
from gradscope.probes.core.sink import Row
from gradscope.probes.core.thread_state import Thread
from gradscope.probes.tensors.metadata import storage_of
from gradscope.signals import let_through
from gradscope.torch_internals.tensors import owners_of

HEAD, WRITE = 5, 4  # numbers per operator, and per tensor written
PLAIN, NO_GRAD = -1, -2  # in place of a node, for operators outside of a backward
MODE = 3  # where a block has its first operator's node: if that is NO_GRAD, all of its operators ran without gradients

Places = tuple[list[int], list[int], list[int]]


class BlockOperator(NamedTuple):
    """An operator of a block. `name` and `stack` are ids of the recording, `call` is the module call's number in the
    block, 0 for none, `node` the node of the running backward, or PLAIN or NO_GRAD. `written` has four numbers for each
    tensor: the argument's name, the version before, -1 for none, the storage's number in the block, the leaf's name."""

    name: int
    stack: int
    call: int
    node: int
    written: list[int]


def operators_of(numbers: list[int]) -> Iterator[BlockOperator]:
    """What a block holds: the only place that takes its numbers apart."""
    at = 0
    while at < len(numbers):
        end = at + HEAD + WRITE * numbers[at + HEAD - 1]
        name, stack, call, node, _ = numbers[at : at + HEAD]
        yield BlockOperator(name, stack, call, node, numbers[at + HEAD : end])
        at = end


def rows_of(block: int, numbers: list[int], calls: Mapping[int, int]) -> tuple[list[Row], list[Row]]:
    """The rows of tables `operation` and `written`; `calls` has the ids of module calls by their number."""
    operations: list[Row] = []
    written: list[Row] = []
    for number, (name, stack, call, node, writes) in enumerate(operators_of(numbers)):
        seen = None if node < 0 else node
        operations.append((block, number, name, stack, calls.get(call, 0), seen, int(node != NO_GRAD)))
        for position in range(len(writes) // WRITE):
            argument, version, storage, leaf = writes[position * WRITE : (position + 1) * WRITE]
            before = None if version < 0 else version
            written.append((block, number, position, argument, before, storage, leaf))
    return operations, written


def ends_of(numbers: list[int]) -> dict[int, int]:
    """The number of each operator of a block, by the place where its numbers end."""
    lengths = (HEAD + len(one.written) for one in operators_of(numbers))
    return {end: number for number, end in enumerate(itertools.accumulate(lengths))}


def enter_call(thread: Thread) -> None:
    """The module call that runs has changed: number it by its first operator in the open block."""
    call = thread.last_call = thread.call
    thread.place = 0 if call is None else thread.calls.setdefault(call, len(thread.calls) + 1)


def places_of(calls: Iterable[RunningModuleCall]) -> Places:
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
        address, version = tensor.untyped_storage()._cdata, tensor._version
    except (RuntimeError, NotImplementedError) as error:  # it has no storage to share, or it is an inference tensor
        let_through(error)
        address, version = storage_of(tensor)[0], -1 if tensor.is_inference() else tensor._version
    versions, latest = thread.versions, thread.latest
    storage = thread.tensors.get(address)
    went_up = storage is not None and not -1 < version <= latest[storage]
    if storage is None or (not went_up and _is_another(tensor, address, version, versions[storage])):
        storage = len(thread.storages)
        versions[storage:], latest[storage:] = (max(version, 0),), (version,)  # a signal handler may raise in between
        thread.storages.append(address)
        thread.tensors[address] = storage
    latest[storage] = version
    return storage, version if version < 0 else version - versions[storage]


def is_alone(tensor: torch.Tensor, address: int) -> bool:
    """Whether no other tensor shares the storage at this address; a view's base does not count."""
    questioned = 3 if tensor._is_view() else 2  # torch counts the object that `numbered` made of the storage, too
    return bool(owners_of(address) <= questioned)


def _is_another(tensor: torch.Tensor, address: int, version: int, first: int) -> bool:
    """Whether a version that does not go up tells of a new storage at a dead one's address, not of an alias by `.data`.

    Where memory is used again differs from step to step, and equal steps are to have equal blocks.
    """
    return version < first or (address != 0 and is_alone(tensor, address))
