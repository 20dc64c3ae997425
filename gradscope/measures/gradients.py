"""Gradient flow: what reached each parameter over the backward calls, and what went through each node in one."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from gradscope.measures.places import single
from gradscope.model.graph import Graph
from gradscope.model.statistics import GradientStatistics
from gradscope.model.table import Column, Row, Table, Unit


@dataclass(slots=True)
class GradientFlow:
    """What was measured at one place, one gradient after the other."""

    norms: list[float] = field(default_factory=list)
    largest: float = 0.0
    zeros: float = 0.0
    nan: int = 0
    inf: int = 0

    def add(self, one: GradientStatistics) -> None:
        """Add one gradient."""
        self.norms.append(one.norm if not (one.nan or one.inf) else math.nan)
        self.largest = max(self.largest, one.max)
        self.zeros += one.zero_share
        self.nan += one.nan
        self.inf += one.inf


COLUMNS = (
    Column("norm", Unit.NUMBER, "2-norm of the last gradient"),
    Column("least", Unit.NUMBER, "the smallest norm"),
    Column("most", Unit.NUMBER, "the greatest norm"),
    Column("max", Unit.NUMBER, "the largest magnitude of a value"),
    Column("zeros", Unit.SHARE, "values that are zero"),
    Column("nan", Unit.COUNT, "values that are NaN"),
    Column("inf", Unit.COUNT, "values that are infinite"),
    Column("calls", Unit.COUNT, "how many gradients were measured"),
    Column("norms", Unit.CURVE, "the norms, the first on the left"),
)


def by_parameter(measured: Iterable[tuple[Graph, Sequence[GradientStatistics]]]) -> Table:
    """Of every parameter, in the order in which the graph names them: the gradients that its accumulator received."""
    flows: dict[str, GradientFlow] = defaultdict(GradientFlow)
    for graph, statistics in measured:
        leaves = {node.id: node.leaf for node in graph.nodes if node.accumulates and node.leaf is not None}
        for one in statistics:
            if one.side == "in" and one.node in leaves:
                flows[leaves[one.node]].add(one)
    return _table("parameter", flows)


def by_node(graph: Graph, calls: Sequence[Sequence[GradientStatistics]]) -> Table:
    """Of every node, from the loss to the leaves: the first gradient that it received."""
    flows: dict[str, GradientFlow] = defaultdict(GradientFlow)
    names = {node.id: single(node) for node in graph.nodes}
    ran = sorted((node for node in graph.nodes if node.order is not None), key=lambda node: node.order or 0)
    received: dict[int, list[GradientStatistics]] = defaultdict(list)
    for call in calls:
        for one in call:
            if one.side == "in" and one.index == 0:
                received[one.node].append(one)
    for node in ran:
        for one in received[node.id]:
            flows[names[node.id]].add(one)
    return _table("node", flows)


def _table(name: str, flows: dict[str, GradientFlow]) -> Table:
    return Table("grads", (Column(name), *COLUMNS), tuple(_row(name, flow) for name, flow in flows.items()))


def _row(name: str, flow: GradientFlow) -> Row:
    known = [norm for norm in flow.norms if not math.isnan(norm)]
    last = flow.norms[-1]
    return (
        name,
        None if math.isnan(last) else last,
        min(known, default=None),
        max(known, default=None),
        flow.largest,
        flow.zeros / len(flow.norms),
        flow.nan,
        flow.inf,
        len(flow.norms),
        " ".join(f"{norm:.4g}" for norm in flow.norms),
    )
