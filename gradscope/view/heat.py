"""Colours boxes by a quantity, with a scale: this table is all that pictures and the page know of the quantities.

The scale is logarithmic, from the least value of a node to the greatest of a box that shows.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from gradscope.model.finding import Finding
from gradscope.model.graph import Graph, Node
from gradscope.model.statistics import GradientStatistics, NodeRun
from gradscope.view.drawing import UNMEASURED, Scale
from gradscope.view.words import seconds, size

LEAST = 0.06  # of the scale for what is more than nothing


@dataclass(frozen=True, slots=True)
class Quantity:
    """`adds`: a box of several nodes has the sum, else the greatest. `lack` says why nothing may be known of it."""

    name: str
    words: str
    adds: bool
    say: Callable[[float], str]
    lack: str


def _plain(value: float) -> str:
    return f"{value:.3g}"


UNRECORDED = "nothing was measured (record with --detail full)"
BYTES = "bytes"
QUANTITIES = {
    each.name: each
    for each in (
        Quantity("time", "time", True, seconds, UNRECORDED),
        Quantity(BYTES, "saved bytes", True, lambda value: size(round(value)), "nothing is saved"),
        Quantity("norm", "gradient norm", False, _plain, UNRECORDED),
        Quantity("update", "share of elements updated", False, lambda value: f"{value:.3%}", "no step was looked at"),
        Quantity("findings", "findings", True, lambda value: f"{value:.0f}", "there are none"),
    )
}


@dataclass(frozen=True, slots=True)
class Measured:
    """What was measured of a backward call. `updates` are shares of elements that a step changed, by parameter."""

    runs: tuple[NodeRun, ...] = ()
    gradients: tuple[GradientStatistics, ...] = ()
    findings: tuple[Finding, ...] = ()
    updates: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Heat:
    """A quantity, and its value at each node where one is known."""

    quantity: Quantity
    values: Mapping[int, float]


def heat(quantity: Quantity, graph: Graph, measured: Measured) -> Heat:
    """The values of a quantity, by node."""
    found = _VALUES[quantity.name](graph, measured)
    return Heat(quantity, {node: value for node, value in found.items() if math.isfinite(value)})


def _times(graph: Graph, measured: Measured) -> dict[int, float]:
    return {run.node: run.duration for run in measured.runs}


def _bytes(graph: Graph, measured: Measured) -> dict[int, float]:
    return {node.id: _kept((node,)) for node in graph.nodes}


def _norms(graph: Graph, measured: Measured) -> dict[int, float]:
    """Of what comes in, all inputs together."""
    found: dict[int, list[float]] = defaultdict(list)
    for one in measured.gradients:
        if one.side == "in" and not one.of_nothing and math.isfinite(one.norm):
            found[one.node].append(one.norm)
    return {node: math.hypot(*norms) for node, norms in found.items()}


def _updates(graph: Graph, measured: Measured) -> dict[int, float]:
    shares = dict(measured.updates)
    return {node.id: shares[node.leaf] for node in graph.nodes if node.accumulates and node.leaf in shares}


def _findings(graph: Graph, measured: Measured) -> dict[int, float]:
    counts = Counter(finding.node for finding in measured.findings)
    return {node.id: float(counts[node.id]) for node in graph.nodes}


_VALUES: dict[str, Callable[[Graph, Measured], dict[int, float]]] = {
    "time": _times,
    BYTES: _bytes,
    "norm": _norms,
    "update": _updates,
    "findings": _findings,
}


def _kept(nodes: Iterable[Node]) -> float:
    """Bytes that nodes keep, each storage once, parameters not at all."""
    kept = {tensor.storage: tensor.bytes for node in nodes for tensor in node.saved if tensor.leaf is None}
    return float(sum(kept.values()))


def value_of(heat: Heat, nodes: Iterable[Node]) -> float | None:
    """The value of a box of these nodes; None where nothing was measured of any."""
    held = tuple(nodes)
    known = [heat.values[node.id] for node in held if node.id in heat.values]
    if not known:
        return None
    if heat.quantity.name == BYTES:
        return _kept(held)
    return sum(known) if heat.quantity.adds else max(known)


def scaled(heat: Heat, values: Iterable[float | None]) -> tuple[Scale, list[float]]:
    """The scale of boxes with these values, and the place of each on it."""
    shown = tuple(values)
    low = min((value for value in heat.values.values() if value > 0), default=math.inf)
    high = max((value for value in shown if value is not None and value > low), default=low)
    words = heat.quantity.words
    if low == math.inf:
        return Scale(f"{words}: {heat.quantity.lack}"), [UNMEASURED] * len(shown)
    scale = Scale(words, heat.quantity.say(low), heat.quantity.say(high))
    return scale, [UNMEASURED if value is None else round(_share(value, low, high), 2) for value in shown]


def _share(value: float, low: float, high: float) -> float:
    if value <= 0:
        return 0.0
    return max(LEAST, math.log(value / low) / math.log(high / low)) if high > low else 1.0
