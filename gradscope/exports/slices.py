"""A recording as slices of time: steps, backward calls, nodes, operators, collectives, and flows between them.

Operators have no times of their own, only the stretch in which they ran: there they stand in order, evenly spread.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import groupby

from gradscope.model.export import Slice
from gradscope.model.graph import Backward
from gradscope.model.operation import Block, Operation
from gradscope.store.reader import Recording

_NANOSECONDS = 1e9
_UNNAMED = ("node", "")
COLLECTIVE, NODE, OPERATOR, BACKWARD, STEP = "collective", "node", "operator", "backward", "step"


class Slices:
    """The slices of one recording. Forward operators are tied to the nodes that they made by line and module."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._begin = int(recording.run().started * _NANOSECONDS)
        self._calls = recording.backwards()
        self._ends = _stretch_ends(recording, self._calls)
        self._flow = 0
        self._operators: dict[tuple[str, int], tuple[str, str, list[int] | None]] = {}
        self._made: dict[tuple[str, str], list[int]] = defaultdict(list)
        self._names: dict[int, list[tuple[str, str]]] = {}
        self._graphs = {number: group[0] for group in recording.by_graph() for number in group}

    def __iter__(self) -> Iterator[Slice]:
        yield from self._steps()
        for call in self._calls:
            yield self._backward(call)
        waiting = {call.number: call for call in self._calls}
        for block in self._recording.blocks(versions=False):  # in order: operators before the nodes that they made
            if block.backward in waiting:
                yield from self._measured_nodes(waiting.pop(block.backward))
            yield from self._block(block)
        for call in waiting.values():
            yield from self._measured_nodes(call)

    def _at(self, seconds: float) -> int:
        return self._begin + int(seconds * _NANOSECONDS)

    def _steps(self) -> Iterator[Slice]:
        """From the end of an outermost backward to the end of the next."""
        last = 0.0
        for call in self._calls:
            if call.nested_in is None:
                end = call.started + (call.duration or 0.0)
                yield Slice(f"step {call.step}", STEP, self._at(last), self._at(end), call.thread)
                last = end

    def _backward(self, call: Backward) -> Slice:
        end = self._at(call.started + (call.duration or 0.0))
        place = "" if call.site is None else str(call.site)
        return Slice(f"backward {call.number}", BACKWARD, self._at(call.started), end, call.thread, place)

    def _measured_nodes(self, call: Backward) -> Iterator[Slice]:
        runs = self._recording.node_runs(call.number)
        if not runs:
            return
        named = self._named(call.number)
        for run in runs:
            name, place = named(run.node)
            start = self._at(call.started + run.started)
            end = start + int(run.duration * _NANOSECONDS)
            yield Slice(name, NODE, start, end, run.thread, place, enters=self._enter(name, place))

    def _named(self, number: int) -> Callable[[int], tuple[str, str]]:
        """What tells name and place of the nodes of a call's graph."""
        graph = self._graphs.get(number)
        if graph is None:
            return lambda node: _UNNAMED
        if graph not in self._names:
            self._names[graph] = self._recording.names(graph)
        names = self._names[graph]
        return lambda node: names[node] if 0 <= node < len(names) else _UNNAMED

    def _block(self, block: Block) -> Iterator[Slice]:
        if not block.operations:
            return
        start, end = self._at(block.started), self._at(self._ends(block))
        each = max((end - start) // len(block.operations), 1)
        if block.backward is None:
            for position, one in enumerate(block.operations):
                yield self._operator(one, start + position * each, each, block.thread)
            return
        named = self._named(block.backward)
        measured = bool(self._recording.node_runs(block.backward))
        position = 0
        for node, group in groupby(block.operations, key=lambda one: one.node):
            inside = list(group)
            at, length = start + position * each, each * len(inside)
            if node is not None and not measured:
                name, place = named(node)
                entered = self._enter(name, place)
                yield Slice(name, NODE, at, at + length, block.thread, place, False, enters=entered)
            for one in inside:
                yield self._operator(one, start + position * each, each, block.thread)
                position += 1

    def _operator(self, one: Operation, start: int, length: int, thread: int) -> Slice:
        kind, place, waiting = self._known(one)
        leaves = None
        if one.node is None and one.grad and waiting is not None:
            self._flow += 1
            leaves = self._flow
            waiting.append(leaves)
        return Slice(one.name, kind, start, start + length, thread, place, False, leaves)

    def _known(self, one: Operation) -> tuple[str, str, list[int] | None]:
        """What operators of one name and stack have in common: kind, place, and the flows that leave them."""
        key = (one.name, id(one.stack))  # stacks are interned for as long as the recording is open
        found = self._operators.get(key)
        if found is None:
            kind, place = COLLECTIVE if "c10d" in one.name else OPERATOR, str(one.site or "")
            waiting = self._made[_stem(one.name), place] if kind is OPERATOR else None
            found = self._operators[key] = kind, place, waiting
        return found

    def _enter(self, node: str, place: str) -> int | None:
        """The flow of the forward operator that made a node: the last one of its name from the same line."""
        waiting = self._made.get((_stem(node), place))
        return waiting.pop() if waiting else None


def _stem(name: str) -> str:
    """`addmm` of `aten.addmm.default` and of `AddmmBackward0`."""
    if "." in name:
        name = name.split(".")[1]
    name = name.partition("Backward")[0]
    return name.replace("_", "").lower()


def _stretch_ends(recording: Recording, calls: tuple[Backward, ...]) -> Callable[[Block], float]:
    """When a stretch ended: its backward call did, or the next thing in its thread began."""
    begun: dict[int, list[float]] = defaultdict(list)
    for thread, started in recording.begun():
        begun[thread].append(started)
    for call in calls:
        begun[call.thread].append(call.started)
    for times in begun.values():
        times.sort()
    by_number = {call.number: call for call in calls}
    duration = recording.run().duration

    def end(block: Block) -> float:
        call = None if block.backward is None else by_number.get(block.backward)
        if call is not None and call.duration is not None:
            return max(call.started + call.duration, block.started)
        times = begun[block.thread]
        at = bisect_right(times, block.started)
        return times[at] if at < len(times) else max(duration, block.started)

    return end
