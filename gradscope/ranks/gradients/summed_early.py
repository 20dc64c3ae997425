"""Gradients that a program sums by hand too early: after one backward call of a step that others follow, which add to
what was summed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, takewhile

from gradscope.model.operation import Block, Operation
from gradscope.model.site import Site, Stack, user_frames
from gradscope.ranks.core.known import Ranks, Told
from gradscope.ranks.gradients.held_back import computed_at
from gradscope.ranks.source.counting import asks_for_a_count
from gradscope.ranks.source.deciding import conditions_of, origin
from gradscope.ranks.source.given import frames_of
from gradscope.ranks.source.syntax import at_line
from gradscope.ranks.source.ways import is_collective
from gradscope.store.collective_reader import read_reduced_leaves
from gradscope.store.file import damage_is_one_sentence
from gradscope.store.reader import Recording

_ROUNDS = 2  # at least, in which a backward call came after the last sum
_MOST = 16  # rounds that are looked at
_WHY = "its gradient is summed before the last backward of a step, and what later ones add is of each rank's own"


@dataclass(frozen=True, slots=True)
class _Done:
    """A backward call that came to a leaf, or a sum of its gradient, by its stack; with none, a write of the leaf."""

    backward: int | None = None
    stack: Stack = ()


def summed_early(ranks: Ranks, number: int, recording: Recording, leaf: str) -> Told | None:
    """Why the sum of a leaf's gradient that a rank's program takes itself is of a part of it, and the line."""
    averaging = ranks.averaging[number]
    by_program = {one.leaf for one in (*averaging.by_hand, *averaging.in_hooks)}
    if averaging.is_wrapped or leaf not in by_program:
        return None
    rounds = list(islice(_rounds(recording, leaf), _MOST))
    if len(rounds) < _ROUNDS or not all(map(_is_early, rounds)):
        return None
    if not any(_are_own(ranks, one.backward) for one in _added(rounds[0])):
        return None  # a penalty on weights, say, is the same on all ranks as long as these are
    return _WHY, _decided(recording, next(one for one in rounds[0] if one.stack))


def _are_own(ranks: Ranks, backward: int | None) -> bool:
    """Whether the ranks began a backward from losses of their own."""
    return len({value for content in ranks.losses for at, value in content if at == backward}) > 1


def _added(order: list[_Done]) -> list[_Done]:
    """The backward calls after the last sum."""
    return list(takewhile(lambda one: not one.stack, reversed(order)))


def _is_early(order: list[_Done]) -> bool:
    """Whether the gradient was summed, and not after the last backward that added to it."""
    last = [one for one in order if one.backward == order[-1].backward]
    return any(one.stack for one in order) and not any(one.stack for one in last)


def _rounds(recording: Recording, leaf: str) -> Iterator[list[_Done]]:
    """What was done to a gradient between two writes of its parameter, where a backward call came to it."""
    order: list[_Done] = []
    for one in _done(recording, leaf):
        if one.backward is not None:
            order.append(one)
        elif order:
            yield order
            order = []


def _done(recording: Recording, leaf: str) -> Iterator[_Done]:
    """All that was done, in order; a sum has the number of the backward call that it came in or after."""
    with damage_is_one_sentence(recording.path):
        reduced = read_reduced_leaves(recording.tables.rows, recording.tables.interned)
    last: int | None = None
    nodes: set[int] = set()
    for block in recording.blocks():
        if block.backward is None:
            yield from _outside(block, leaf, last if leaf in reduced.get(block.number, ()) else None)
            continue
        if block.backward != last:
            nodes = _nodes_of(recording, block.backward, leaf)
            last = block.backward if nodes else last
            yield from [_Done(block.backward)] if nodes else []
        sums = (one for one in block.operations if one.node in nodes and is_collective(one.name))
        yield from (_Done(block.backward, one.stack) for one in sums)


def _nodes_of(recording: Recording, backward: int, leaf: str) -> set[int]:
    """Those that give the leaf its gradient in a backward call."""
    known = backward in recording.graph_sizes()
    return {one.id for one in recording.graph(backward).nodes if one.leaf == leaf} if known else set()


def _outside(block: Block, leaf: str, summed_after: int | None) -> Iterator[_Done]:
    """The writes of a leaf in a stretch outside of backward calls, and the sum that it ends with."""
    for one in block.operations:
        if _writes(one, leaf):
            yield _Done()
    if summed_after is not None and block.operations:
        yield _Done(summed_after, block.operations[-1].stack)


def _writes(one: Operation, leaf: str) -> bool:
    return any(write.leaf == leaf for write in one.writes) and not is_collective(one.name)


def _decided(recording: Recording, summed: _Done) -> Site:
    """The nearest condition by which a program comes to a sum that goes by a count; else the line that leads to it in
    a function that calls backward() as well, or in a hook."""
    call = [site for one in recording.backwards() if one.number == summed.backward for site in user_frames(one.stack)]
    around = {(site.file, site.function) for site in call}
    sites = list(user_frames(summed.stack))
    below = len(list(takewhile(lambda site: (site.file, site.function) not in around, sites)))
    frames = frames_of(recording, summed.stack)
    for at, frame in enumerate(frames[: below + 1]):
        for test in conditions_of(frame):
            if origin(recording, frames[at:], test, lambda value: asks_for_a_count(recording, value)) is not None:
                return at_line(recording, frame.site, computed_at(frame.function, [test]))
    in_a_hook = below > 0 and sites[below:] == call[len(call) - len(sites) + below :]
    return sites[below - 1] if in_a_hook or below == len(sites) else sites[below]
