"""What a rank gives a collective and never reads again: a copy of a gradient, or of a parameter, and not the thing."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from gradscope.model.flow import FlowOperation
from gradscope.model.site import Site
from gradscope.ranks.source.ways import is_collective
from gradscope.store.reader import Recording

_SUMS = "c10d.allreduce_."
_REDUCES = "c10d.reduce_."
_BROADCASTS = "c10d.broadcast_."


@dataclass(slots=True)
class Unread:
    """The line of a collective, and the last line that touched what it gave, which nothing was computed from."""

    meets: Site
    last: Site


@dataclass(slots=True)
class _Memory:
    """Where each tensor is, and how many numbers it has: the memory of gradients or parameters, and of copies."""

    places: dict[int, tuple[int, int]]
    own: set[int]
    copies: set[int]

    def read(self, one: FlowOperation) -> list[tuple[int, int]]:
        """The memory of what an operator read, and how many numbers of it."""
        return [self.places[each.tensor] for each in one.reads if each.tensor in self.places]

    def made(self, one: FlowOperation) -> list[tuple[int, int]]:
        """Those that an operator made."""
        return [self.places[each] for each in one.makes if each in self.places]

    def keep(self, one: FlowOperation) -> None:
        """Note gradients: what a backward computes, and no view of something else."""
        self.own.update({storage for storage, _ in self.made(one)} - {storage for storage, _ in self.read(one)})


def unread_sums(recording: Recording) -> list[Unread]:
    """The sums of copies of gradients from which nothing was computed; empty where something was from any of a line."""
    memory = _Memory(_places(recording), set(), set())
    sums = list(_unread(recording, memory, _SUMS, gradients=True))
    read = {str(one.meets) for one, was_read in sums if was_read}
    return [one for one, _ in sums if str(one.meets) not in read]


def unread_broadcast(recording: Recording, leaf: str) -> Site | None:
    """The line that broadcast a copy of a parameter before the first backward call, which nothing reads."""
    own = {one.storage for one in recording.flow_tensors() if one.parameter and one.leaf == leaf}
    memory = _Memory(_places(recording), own, set())
    sent = list(_unread(recording, memory, _BROADCASTS, gradients=False))
    return sent[-1][0].meets if sent and not any(was_read for _, was_read in sent) else None


def reduced_to_one(recording: Recording) -> Site | None:
    """The line that gave the sum of gradients to one rank alone, each time that they were summed at all."""
    memory, found = _Memory(_places(recording), set(), set()), set[str]()
    at: Site | None = None
    for one in recording.flow():
        if one.backward is not None:
            memory.keep(one)
        elif is_collective(one.operation.name) and any(storage in memory.own for storage, _ in memory.read(one)):
            found.add(one.operation.name)
            at = one.site if one.operation.name.startswith(_REDUCES) else at
    return at if found and all(name.startswith(_REDUCES) for name in found) else None


def _places(recording: Recording) -> dict[int, tuple[int, int]]:
    return {one.number: (one.storage, math.prod(one.type.shape)) for one in recording.flow_tensors()}


def _unread(recording: Recording, memory: _Memory, kind: str, gradients: bool) -> Iterator[tuple[Unread, bool]]:
    """Each collective of a kind on a copy, and whether anything was computed from what it gave and from something else,
    or read out of it."""
    held: dict[int, Unread] = {}
    for one in recording.flow():
        if one.backward is not None:
            if not gradients:
                break
            memory.keep(one)
        read, made = memory.read(one), memory.made(one)
        given, is_met = {storage for storage, _ in read}, is_collective(one.operation.name)
        yield from ((each, True) for each in _follow(held, one, given, {storage for storage, _ in made}))
        if is_met and one.operation.name.startswith(kind) and one.site is not None and one.backward is None:
            held.update({at: Unread(one.site, one.site) for at in given & memory.copies - memory.own})
        elif not is_met and one.backward is None:
            _copy(memory, read, made)
    yield from ((one, False) for one in {id(one): one for one in held.values()}.values())


def _follow(held: dict[int, Unread], one: FlowOperation, given: set[int], made: set[int]) -> Iterator[Unread]:
    """Note what is computed from what a collective gave alone, and forget, and give, that from which something else
    is computed, or which is read out."""
    is_out = is_collective(one.operation.name) or not made
    for found in {id(held[storage]): held[storage] for storage in given & held.keys()}.values():
        if is_out or not all(held.get(storage) is found for storage in given):
            for storage in [storage for storage, each in held.items() if each is found]:
                del held[storage]
            yield found
            continue
        held.update(dict.fromkeys(made, found))
        if one.site is not None and one.site.is_in_function_of(found.meets):
            found.last = one.site


def _copy(memory: _Memory, read: list[tuple[int, int]], made: list[tuple[int, int]]) -> None:
    """Note what is as large as what it was computed from, as a norm is not."""
    sizes = [size for storage, size in read if storage in memory.own | memory.copies]
    if sizes:
        memory.copies.update(storage for storage, size in made if storage not in memory.own and size >= max(sizes))
