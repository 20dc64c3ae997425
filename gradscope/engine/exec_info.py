"""Which nodes a backward call runs, and which it only looks at: torch's exec_info.

torch also compares topological numbers on its way. They only save it steps: a node whose number is too small cannot
reach any of the `inputs`, so leaving them out changes no answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter

from gradscope.model.graph import Backward, Graph


@dataclass(frozen=True, slots=True)
class ExecInfo:
    """What torch decides before it starts: `needed` nodes run, `captured` ones give the result of autograd.grad."""

    needed: frozenset[int]
    captured: frozenset[int] = frozenset()

    @property
    def useful(self) -> frozenset[int]:
        """The nodes that gradients are sent to."""
        return self.needed | self.captured if self.captured else self.needed

    def should_execute(self, node: int) -> bool:
        """Whether gradients are sent to the node at all."""
        return node in self.needed or node in self.captured


def exec_info(graph: Graph, reached: frozenset[int] | None = None) -> ExecInfo:
    """Decide which nodes run, as GraphTask::init_to_execute does (engine.cpp, torch 2.13).

    An input without a node counts: torch puts a node that nothing reaches in its place, so that nothing runs for it.
    `reached` are the nodes that the roots lead to, where somebody knows them already.
    """
    backward = graph.backward
    if reached is None:
        reached = reach(accepted_roots(backward), targets_by_source(graph))
    if backward.inputs is None:
        return ExecInfo(reached)
    inputs = {root.node for root in backward.inputs if root.node is not None} & reached
    useful = reach(inputs, _sources_by_target(graph)) & reached
    if backward.kind == "backward":
        return ExecInfo(useful)
    # autograd.grad reads the gradient on arrival: an input runs only if another input lies behind it.
    return ExecInfo(frozenset(edge.source for edge in graph.edges if edge.target in useful) & useful, frozenset(inputs))


def accepted_roots(backward: Backward) -> tuple[int, ...]:
    """The nodes to start from, as given; none when one root has no node, because torch then refuses the call."""
    roots = tuple(root.node for root in backward.roots if root.node is not None)
    return roots if len(roots) == len(backward.roots) else ()


def targets_by_source(graph: Graph) -> list[list[int]]:
    """For each node, where its outputs go, in the order of the outputs (the order in which torch hands them on)."""
    targets: list[list[int]] = [[] for _ in graph.nodes]
    for edge in sorted(graph.edges, key=attrgetter("output")):
        targets[edge.source].append(edge.target)
    return targets


def reach(starts: Iterable[int], neighbours: Sequence[Sequence[int]]) -> frozenset[int]:
    """The starts and every node that can be walked to from them."""
    seen = set(starts)
    pending = list(seen)
    while pending:
        for node in neighbours[pending.pop()]:
            if node not in seen:
                seen.add(node)
                pending.append(node)
    return frozenset(seen)


def _sources_by_target(graph: Graph) -> list[list[int]]:
    sources: list[list[int]] = [[] for _ in graph.nodes]
    for edge in graph.edges:
        sources[edge.target].append(edge.source)
    return sources
