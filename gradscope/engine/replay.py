"""Walks a backward moment by moment: what each node sends where, and what waits in the ready queue after it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from gradscope.engine import heap
from gradscope.engine.exec_info import ExecInfo, exec_info
from gradscope.engine.heap import LAST_SEQ_NR, Task
from gradscope.engine.order import CPU, Prediction, queue_device, steps, until_raised
from gradscope.model.graph import Edge, Graph

SHOWN = 20  # tasks of a queue that a moment names


@dataclass(frozen=True, slots=True)
class Sent:
    """What goes along an edge: whether its gradient is asked for, how many are at its target already, and whether the
    target has all of its gradients now.
    """

    edge: Edge
    asked: bool
    before: int
    ready: bool


@dataclass(frozen=True, slots=True)
class Moment:
    """The engine takes a node. `position` counts the nodes that run; None when its gradient is only captured.

    `stopped`: the backward raised in it; without a position, before it ran.

    `queue` names the first tasks that wait after it, the next one first; `waiting` counts them all.
    """

    node: int
    position: int | None
    tied: bool
    sent: tuple[Sent, ...]
    queue: tuple[int, ...]
    waiting: int
    stopped: bool = False


def moments(graph: Graph, prediction: Prediction, order: Sequence[int] | None = None) -> Iterator[Moment]:
    """Walk a backward as the engine does; with an `order`, as it was recorded when it is not the predicted one."""
    walk = _Walk(graph, prediction)
    one_queue = {queue_device(node.device) for node in graph.nodes} <= {CPU}
    if order is not None and tuple(order) != prediction.order:
        for node in order:
            yield walk.moment(node, True, False, walk.waiting)
        yield from walk.before_a_node(order)
        return
    queue: list[Task] = []
    taken = []
    for step in until_raised(graph, steps(graph, queue)):
        taken.append(step.node)
        waiting = partial(walk.in_queue, queue, step.ready) if one_queue else walk.waiting
        yield walk.moment(step.node, step.runs, step.tied, waiting)
    yield from walk.before_a_node(taken)


class _Walk:
    """Which gradients have come where, and which nodes have all of theirs."""

    def __init__(self, graph: Graph, prediction: Prediction) -> None:
        self._graph, self._asked = graph, prediction.edges
        self._info: ExecInfo = exec_info(graph)
        self._edges: dict[int, list[Edge]] = defaultdict(list)
        self._missing = [0] * len(graph.nodes)
        self._came: dict[tuple[int, int], int] = defaultdict(int)
        self._ready: dict[int, None] = dict.fromkeys(graph.roots)
        self._positions = iter(range(len(graph.nodes)))
        for edge in sorted(graph.edges, key=lambda edge: edge.output):
            self._edges[edge.source].append(edge)
            if (edge.source, edge.output) in self._asked:
                self._missing[edge.target] += 1

    def moment(self, node: int, runs: bool, tied: bool, waiting: Callable[[], tuple[tuple[int, ...], int]]) -> Moment:
        """A node is taken; `waiting` tells what is in the queue then."""
        self._ready.pop(node, None)
        stopped = node == self._graph.backward.stopped
        sent = tuple(self._send(edge) for edge in self._edges[node]) if runs and not stopped else ()
        position = next(self._positions) if runs else None
        return Moment(node, position, tied, sent, *waiting(), stopped)

    def before_a_node(self, taken: Sequence[int]) -> Iterator[Moment]:
        """A hook before a node that was not taken has raised."""
        stopped = self._graph.backward.stopped
        if stopped is not None and stopped not in taken:
            self._ready.pop(stopped, None)
            yield Moment(stopped, None, False, (), *self.waiting(), True)

    def waiting(self) -> tuple[tuple[int, ...], int]:
        """The first nodes that are ready, by priority, and how many there are."""
        ordered = sorted(self._ready, key=self._priority, reverse=True)
        return tuple(ordered[:SHOWN]), len(ordered)

    def in_queue(self, queue: list[Task], ready: Sequence[int]) -> tuple[tuple[int, ...], int]:
        """The same of the one queue there is, in the heap's own order among equals."""
        rest = [task for task in queue if task.node < len(self._graph.nodes)]
        for node in ready:
            heap.push(rest, Task(node, self._priority(node)))
        count = len(rest)
        return tuple(heap.pop(rest).node for _ in range(min(SHOWN, count))), count

    def _send(self, edge: Edge) -> Sent:
        asked = (edge.source, edge.output) in self._asked
        before = self._came[edge.target, edge.input_nr]
        ready = False
        if asked:
            self._came[edge.target, edge.input_nr] += 1
            self._missing[edge.target] -= 1
            ready = self._missing[edge.target] == 0 and self._info.should_execute(edge.target)
            if ready:
                self._ready[edge.target] = None
        return Sent(edge, asked, before, ready)

    def _priority(self, node: int) -> int:
        seq_nr = self._graph.nodes[node].seq_nr
        return LAST_SEQ_NR if seq_nr is None else seq_nr
