"""A recording as slices of time: steps, backward calls, nodes, operators, collectives, and flows between them.

Operators have no times of their own, only the stretch in which they ran: there they stand in order, evenly spread.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import groupby

from gradscope.exports.places import Places
from gradscope.exports.spread import Spread, Timed
from gradscope.model.export import Kind, Slice
from gradscope.model.graph import Backward
from gradscope.model.operation import Block
from gradscope.model.statistics import NodeRun
from gradscope.store.reader import Recording

_NANOSECONDS = 1e9
_LATEST = 1 << 62  # a trace has no later times, but a file can say anything
BACKWARD, STEP = "backward", "step"


InThread = tuple[int, list[Timed]]


class Slices:
    """The slices of one recording, by thread. Forward operators are tied to the nodes that they made by their lines.

    Once all were asked for, `drawn` are the flows that lead to a node: one that never does is not drawn.
    """

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._begin = int(recording.run().started * _NANOSECONDS)
        self._calls = recording.backwards()
        self._ends = _stretch_ends(recording, self._calls)
        self._places = Places(recording)
        self._measured: set[int | None] = set()
        self._flow = 0
        self.drawn: set[int] = set()

    def __iter__(self) -> Iterator[InThread]:
        yield from self._steps()
        yield from map(self._backward, self._calls)
        waiting = {call.number: call for call in self._calls}
        for block in self._recording.blocks():  # in order: operators before the nodes that they made
            if block.backward in waiting:
                yield from self._measured_nodes(waiting.pop(block.backward))
            if block.operations:
                yield self._block(block)
        for call in waiting.values():
            yield from self._measured_nodes(call)

    def _at(self, seconds: float) -> int:
        return min(max(self._begin + int(seconds * _NANOSECONDS), 0), _LATEST)

    def _steps(self) -> Iterator[InThread]:
        """From the end of an outermost backward to the end of the next."""
        last = 0.0
        for call in self._calls:
            if call.nested_in is None:
                end = call.started + (call.duration or 0.0)
                yield call.thread, [(self._at(last), self._at(end), Kind(f"step {call.step}", STEP), 0)]
                last = end

    def _backward(self, call: Backward) -> InThread:
        end = self._at(call.started + (call.duration or 0.0))
        kind = Kind(f"backward {call.number}", BACKWARD, "" if call.site is None else str(call.site))
        return call.thread, [(self._at(call.started), end, kind, 0)]

    def _measured_nodes(self, call: Backward) -> Iterator[InThread]:
        runs = self._recording.node_runs(call.number)
        if not runs:
            return
        self._measured.add(call.number)
        node = self._places.node(call.number)

        def ran(run: NodeRun) -> Slice:
            kind, made = node(run.node)
            start = self._at(call.started + run.started)
            return start, start + int(run.duration * _NANOSECONDS), kind, self._arrived(made)

        for thread, group in groupby(runs, key=lambda run: run.thread):
            yield thread, list(map(ran, group))

    def _block(self, block: Block) -> InThread:
        """A stretch of operators, evenly spread from its start to its end."""
        start, end = self._at(block.started), self._at(self._ends(block))
        each = max((end - start) // len(block.operations), 1)
        places = self._places.stretch(block.operations, block.backward, block.backward in self._measured)
        flow, flows = self._flow, []
        for place in places:
            if place.leaves is not None:
                flow += 1
                place.leaves.append(flow)
                flows.append(flow)
            else:
                flows.append(self._arrived(place.enters) if place.enters else 0)
        self._flow = flow
        return block.thread, [Spread(start, each, len(block.operations), places, flows)]

    def _arrived(self, waiting: list[int]) -> int:
        """The last of the flows that wait for such a node, or 0."""
        if not waiting:
            return 0
        flow = waiting.pop()
        self.drawn.add(flow)
        return flow


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
