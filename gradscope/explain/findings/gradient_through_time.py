"""GS739: gradients that grow or shrink from call to call of the same line, on their way back through time.

The surprise: the weights' own gradients do not tell. They are sums over all calls, in which the largest hides the rest.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from statistics import correlation

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.graph_cuts import first_values
from gradscope.explain.evidence.case import Case
from gradscope.model.finding import Related, Severity
from gradscope.model.graph import Graph, Node
from gradscope.model.site import Site

_STEPS = 2  # measured, of which each must tell
_MEASURED = 4  # nodes of a line, at least
_EXPLODED, _VANISHED = 1e4, 1e-7  # below the second a sum in float32 does not change
_STEADILY = 0.9  # correlation of time and logarithm
_PRODUCTS = ("MmBackward", "AddmmBackward", "BmmBackward", "MvBackward", "LinearBackward")


@dataclass(frozen=True, slots=True)
class _Chain:
    """Nodes of one line, each computed from the next: the latest first, with what they received."""

    graph: Graph
    nodes: tuple[Node, ...]
    sizes: tuple[float, ...]
    backward: int

    @property
    def change(self) -> float:
        """How much larger the gradient is at the earliest than at the latest, steadily; 1 where not steadily."""
        if not all(0.0 < size < math.inf for size in self.sizes):
            return 1.0
        logarithms = [math.log(size) for size in self.sizes]
        steady = abs(correlation(range(len(logarithms)), logarithms)) if len(set(logarithms)) > 1 else 0.0
        return math.exp(logarithms[-1] - logarithms[0]) if steady >= _STEADILY else 1.0


def through_time(case: Case) -> Iterator[Cause]:
    """What it flags: a gradient that grows ten thousandfold, or shrinks below what a sum in float32 can hold, from call
    to call of one line: a recurrent cell, a scan, an integrator.

    Why: going back through time, the gradient is multiplied by the same weights again and again. Where they are a
    little too large it explodes: the first steps throw everything about, and clipping then holds all others still.
    Where they are too small, or a tanh is saturated, it vanishes: what is far back is not learnt.

    Wrong:
        nn.init.normal_(self.recurrent)

    Right:
        nn.init.orthogonal_(self.recurrent)

    Do instead: initialise the recurrent weights so that they keep the length of a vector (orthogonal, or the identity),
    bound the factor of a scan below 1, start the forget gate's bias at 1, use a gated cell, normalise, or go back fewer
    steps.

    How it is found: in the steps 0, 1, 2, 4, 8, ... the gradients of some nodes of each line that made eight or more
    are measured, where each of them was computed from the next. In the last steps measured it grows, or in all of them
    it shrinks, about as much with every call. The line named gives the weight that multiplies it its values; without
    one, it is the line of the cell. That a gradient vanishes is a hint: the program may need what is near only.
    """
    lines: dict[Site, list[_Chain]] = defaultdict(list)
    for chain in _chains(case):
        if chain.nodes[0].site is not None:
            lines[chain.nodes[0].site].append(chain)
    told = [one for chains in lines.values() for one in _told(case, chains)]
    yield from told[:1]


def _told(case: Case, chains: list[_Chain]) -> Iterator[Cause]:
    """What the chains of one line say in all steps that were measured."""
    steps: dict[int, float] = {}
    for chain in chains:
        change = chain.change
        if abs(math.log(change)) > abs(math.log(steps.get(chain.backward, 1.0))):
            steps[chain.backward] = change
    measured = {chain.backward for chain in chains}
    if len(measured) < _STEPS or set(steps) != measured:
        return
    last = [steps[backward] for backward in sorted(measured)[-_STEPS:]]  # sequences may grow while it trains
    grows, shrinks = min(last) >= _EXPLODED, max(steps.values()) <= _VANISHED
    if grows or shrinks:
        best = max(chains, key=lambda chain: (abs(math.log(chain.change)), -chain.backward))
        yield _cause(case, best, grows)


def _cause(case: Case, chain: _Chain, grows: bool) -> Cause:
    weight = _recurrent(chain, 0)
    site = chain.nodes[0].site
    given = None if weight is None else first_values(case, weight)
    what = f"{weight} multiplies it each time" if weight else "it is multiplied each time"
    message = (
        f"the gradient {'explodes' if grows else 'vanishes'} on its way back through time: {chain.sizes[0]:.1e} at the "
        f"last call of this line and {chain.sizes[-1]:.1e} at the first that was measured; {what}"
    )
    if given is not None and given != site:
        message = message.replace("this line", f"line {site.line}" if site is not None else "a line")
    return Cause(
        message,
        given or site,
        (Related("saved_at", site, chain.nodes[0].name),) if given not in (None, site) else (),
        certain=False,
        severity=Severity.WARNING if grows else Severity.INFO,
        node=chain.nodes[0].id,
        tensor=weight,
        module=None if chain.nodes[0].module is None else chain.nodes[0].module.label,
        backward=chain.backward,
    )


def _chains(case: Case) -> Iterator[_Chain]:
    for backward, sizes in sorted(case.node_sizes().items()):
        if backward not in case.graph_sizes():
            continue
        graph = case.graph(backward)
        lines: dict[tuple[str, Site | None], list[Node]] = defaultdict(list)
        for number in sizes:
            if 0 <= number < len(graph.nodes):
                lines[graph.nodes[number].name, graph.nodes[number].site].append(graph.nodes[number])
        targets = _targets(graph)
        for nodes in lines.values():
            ordered = sorted(nodes, key=lambda node: -(node.seq_nr or 0))
            is_loop = len(ordered) >= _MEASURED and len({node.module and node.module.path for node in ordered}) == 1
            if is_loop and all(_way(targets, one.id, following.id) for one, following in pairwise(ordered)):
                chain = _Chain(graph, tuple(ordered), tuple(sizes[node.id] for node in ordered), backward)
                if _recurrent(chain, 0) == _recurrent(chain, len(ordered) - 2):  # else these are layers
                    yield chain


def _targets(graph: Graph) -> dict[int, list[int]]:
    found: dict[int, list[int]] = defaultdict(list)
    for edge in graph.edges:
        found[edge.source].append(edge.target)
    return found


def _way(targets: dict[int, list[int]], start: int, end: int) -> list[int]:
    """The nodes of a shortest way between two, without the ends; the end alone where one follows the other."""
    came: dict[int, int] = {start: start}
    front = [start]
    for one in front:
        for target in targets.get(one, ()):
            if target not in came:
                came[target] = one
                front.append(target)
        if end in came:
            break
    if end not in came:
        return []
    way = [end]
    while came[way[-1]] != start:
        way.append(came[way[-1]])
    return way


def _recurrent(chain: _Chain, at: int) -> str | None:
    """The leaf that multiplies the gradient on the way from one call to the next one measured."""
    targets = _targets(chain.graph)
    nodes = chain.graph.nodes
    for number in _way(targets, chain.nodes[at].id, chain.nodes[at + 1].id):
        if nodes[number].name.startswith(_PRODUCTS):
            front = [*targets[number]]
            for one in front[:8]:
                if nodes[one].name.startswith(("TBackward", "TransposeBackward", "PermuteBackward", "ExpandBackward")):
                    front += targets[one]
            leaf = next((nodes[one].leaf for one in front if nodes[one].leaf and not _is_bias(nodes[one])), None)
            if leaf is not None:
                return leaf
    return None


def _is_bias(node: Node) -> bool:
    return bool(node.inputs_meta) and node.inputs_meta[0] is not None and len(node.inputs_meta[0].shape) < 2
