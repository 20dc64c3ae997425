"""A backward and those that start inside it, walked together as they share one ready queue.

Alone, a nested backward is certain except for ties: then the outer tasks in the same heap decide.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gradscope.engine.heap import Task
from gradscope.engine.order import steps
from gradscope.model.graph import Graph

Started = Mapping[tuple[int, int], Sequence[Graph]]  # (backward, node) -> what starts while the node runs, in order


def orders(outer: Graph, started: Started) -> dict[int, tuple[int, ...]]:
    """The order of every backward, by its number."""
    found: dict[int, tuple[int, ...]] = {}
    queue: list[Task] = []
    waiting = [_Walk(outer, queue, 0)]  # a list: backwards deep inside each other must not exhaust Python's own stack
    while waiting:
        walk = waiting[-1]
        step = next(walk.steps, None)
        if step is None:
            waiting.pop()
            found[walk.graph.backward.number] = tuple(walk.order)
            continue
        if step.runs:
            walk.order.append(step.node)
        inside = started.get((walk.graph.backward.number, step.node), ())
        waiting.extend(_Walk(inner, queue, walk.depth + 1) for inner in reversed(inside))
    return found


class _Walk:
    """One backward on its way; `steps` enters the queue when it is first asked."""

    def __init__(self, graph: Graph, queue: list[Task], depth: int) -> None:
        self.graph, self.depth = graph, depth
        self.steps = steps(graph, queue, depth)
        self.order: list[int] = []
