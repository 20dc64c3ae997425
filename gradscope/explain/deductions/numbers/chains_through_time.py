"""Lines that are called again on their own result, and how their gradients change from call to call.

The surprise: the weights' own gradients do not tell. They are sums over all calls, in which the largest hides the rest.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from gradscope.explain.deductions.numbers.steadiness import steadiness
from gradscope.explain.evidence.case import Case
from gradscope.model.graph import Graph, Node
from gradscope.model.site import Site
from gradscope.store.asked import kept

_STEPS = 2  # measured, of which each must tell
_MEASURED = 4  # nodes of a line, at least
_EXPLODED = math.log(1e4)
_VANISHED = math.log(1e-7)  # what is smaller does not change a sum in float32
_STEADILY = 0.9  # correlation of time and logarithm
_PRODUCTS = ("MmBackward", "AddmmBackward", "BmmBackward", "MvBackward", "LinearBackward")
_VIEWS = ("TBackward", "TransposeBackward", "PermuteBackward", "ExpandBackward")
Targets = dict[int, list[int]]  # the nodes that each node's gradient goes to


@dataclass(frozen=True, slots=True)
class Chain:
    """Nodes of one line, each computed from the next: the latest first, with the largest magnitude that each received.

    `weight` is the leaf that multiplies the gradient from one to the next, None where none does.
    """

    nodes: tuple[Node, ...]
    sizes: tuple[float, ...]
    backward: int
    weight: str | None

    @property
    def growth(self) -> float:
        """The logarithm of the earliest gradient over the latest; 0 where it does not change steadily."""
        if not all(0.0 < size < math.inf for size in self.sizes):
            return 0.0
        logarithms = [math.log(size) for size in self.sizes]
        if abs(steadiness(logarithms)) < _STEADILY:
            return 0.0
        return logarithms[-1] - logarithms[0]


def exploding_chain(case: Case) -> Chain | None:
    """The first line's chain that explodes in the last steps measured: sequences may grow while it trains."""
    for chains in _by_line(case):
        if all(one.growth >= _EXPLODED for one in chains[-_STEPS:]):
            return max(chains, key=lambda one: one.growth)
    return None


def vanishing_chain(case: Case) -> Chain | None:
    """The first line's chain that vanishes in all steps measured."""
    for chains in _by_line(case):
        if all(one.growth <= _VANISHED for one in chains):
            return min(chains, key=lambda one: one.growth)
    return None


def _by_line(case: Case) -> Iterator[list[Chain]]:
    """The chains of each line that was measured in several steps: one for a step, that of the largest change."""
    lines: dict[Site, dict[int, Chain]] = defaultdict(dict)
    for chain in _chains(case):
        site = chain.nodes[0].site
        if site is not None:
            other = lines[site].get(chain.backward)
            if other is None or abs(chain.growth) > abs(other.growth):
                lines[site][chain.backward] = chain
    return (list(steps.values()) for steps in lines.values() if len(steps) >= _STEPS)


@kept
def _chains(case: Case) -> tuple[Chain, ...]:
    """Every chain, in the order of the backward calls."""
    measured = sorted(case.node_sizes().items())
    return tuple(one for number, sizes in measured if number in case.graph_sizes() for one in _of(case, number, sizes))


def _of(case: Case, backward: int, sizes: dict[int, float]) -> Iterator[Chain]:
    graph = case.graph(backward)
    targets: Targets = defaultdict(list)
    for edge in graph.edges:
        targets[edge.source].append(edge.target)
    lines: dict[tuple[str, Site | None, str | None], list[Node]] = defaultdict(list)
    for node in (graph.nodes[number] for number in sizes if 0 <= number < len(graph.nodes)):
        lines[node.name, node.site, None if node.module is None else node.module.path].append(node)
    for nodes in lines.values():
        if len(nodes) < _MEASURED:
            continue
        ordered = sorted(nodes, key=lambda node: -(node.seq_nr or 0))
        ways = [_way(targets, one.id, following.id) for one, following in pairwise(ordered)]
        weights = {_weight(graph, targets, way) for way in ways}
        if all(ways) and len(weights) == 1:  # several weights: these are layers
            yield Chain(tuple(ordered), tuple(sizes[node.id] for node in ordered), backward, weights.pop())


def _way(targets: Targets, start: int, end: int) -> list[int]:
    """The nodes of a shortest way between two, the end with them and the start not; none where there is no way."""
    came = {start: start}
    front = [start]
    for one in front:
        for target in targets.get(one, ()):
            if target not in came:
                came[target] = one
                front.append(target)
        if end in came:
            break
    way = [end] if end in came else []
    while way and came[way[-1]] != start:
        way.append(came[way[-1]])
    return way


def _weight(graph: Graph, targets: Targets, way: list[int]) -> str | None:
    """The leaf of the first product on a way."""
    for number in way:
        if graph.nodes[number].name.startswith(_PRODUCTS):
            operands = [graph.nodes[one] for one in targets[number]]
            views = [one.id for one in operands if one.name.startswith(_VIEWS)]
            operands += [graph.nodes[one] for view in views for one in targets[view]]
            leaves = [one.leaf for one in operands if one.leaf is not None and not _is_vector(one)]
            if leaves:
                return leaves[0]
    return None


def _is_vector(node: Node) -> bool:
    meta = node.inputs_meta[0] if node.inputs_meta else None
    return meta is not None and len(meta.shape) < 2
