"""What a rank ran on the way to each of its backward calls, and whether it met others between model and loss."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from operator import attrgetter

from gradscope.model.flow import FlowOperation
from gradscope.model.graph import Backward
from gradscope.model.operation import Operation, base_name
from gradscope.store.reader import Recording

_COLLECTIVES = ("c10d.", "_c10d_functional")
_MOSTLY = 0.5  # of the ways


def forwards_of(recording: Recording) -> Iterator[tuple[int, FlowOperation]]:
    """The operators outside of backward calls whose tensors were followed, each with how many of the calls were."""
    before: int | None = None
    calls = 0
    for one in recording.flow():
        if one.backward is None:
            yield calls, one
        elif one.backward != before:
            before, calls = one.backward, calls + 1


def ways_of(recording: Recording) -> dict[int, list[Operation]]:
    """By backward: the operators of the user's lines on the way to it."""
    calls: dict[int, list[Backward]] = defaultdict(list)
    for call in recording.backwards():
        calls[call.thread].append(call)
    found: dict[int, list[Operation]] = defaultdict(list)
    for block in recording.blocks():
        after = calls[block.thread]
        place = bisect_right(after, block.started, key=attrgetter("started"))
        if block.backward is None and place < len(after):
            found[after[place].number] += (one for one in block.operations if one.site is not None)
    return found


def way_on(recording: Recording) -> list[Operation]:
    """The operators of the user's lines after the last backward call, on its thread."""
    last = max(recording.backwards(), key=attrgetter("started"), default=None)
    if last is None:
        return []
    blocks = (one for one in recording.blocks() if one.backward is None and one.thread == last.thread)
    after = (one for one in blocks if one.started > last.started)
    return [one for block in after for one in block.operations if one.site is not None]


def is_collective(operator: str) -> bool:
    """Whether an operator exchanges something with other ranks."""
    return operator.startswith(_COLLECTIVES)


def meets_before_the_loss(recording: Recording, since: int = 0) -> bool:
    """Whether a rank exchanges something with others between its model and the loss, in most steps from one on."""
    ways = [way for backward, way in ways_of(recording).items() if backward >= since]
    return sum(map(_meets_after_a_module, ways)) > _MOSTLY * len(ways)


def _meets_after_a_module(way: list[Operation]) -> bool:
    """Whether a module was called with gradients on before a collective; those that share buffers send alone."""
    called = False
    for one in way:
        called = called or (one.grad and one.module is not None)
        if called and is_collective(one.name) and base_name(one.name) not in ("broadcast_", "broadcast"):
            return True
    return False
