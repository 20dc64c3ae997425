"""What a call with `inputs=` spares, and what it computes for nothing, with an estimate of the work and the time.

Nothing is wasted by built-in nodes: they are told which gradients are asked for. A custom Function computes them all.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from gradscope.engine.flops import flops
from gradscope.engine.needs import spared
from gradscope.engine.order import Prediction, predict
from gradscope.model.graph import Edge, Graph
from gradscope.model.statistics import NodeRun


@dataclass(frozen=True, slots=True)
class Waste:
    """Pruning of one call. Times are seconds, None where they were not measured; operations and times are estimates.

    `left_out` are nodes that no gradient is sent to, `not_computed` edges of nodes that run whose gradient is not
    computed, `wasted` edges whose gradient is computed and thrown away. `certain`: the gradients were seen.
    """

    left_out: tuple[int, ...]
    not_computed: tuple[Edge, ...]
    wasted: tuple[Edge, ...]
    certain: bool
    flops_run: int
    flops_spared: int
    flops_wasted: int
    seconds_spared: float | None = None
    seconds_wasted: float | None = None


def waste(
    graph: Graph,
    prediction: Prediction | None = None,
    runs: Sequence[NodeRun] = (),
    computed: Collection[tuple[int, int]] | None = None,
) -> Waste:
    """Judge one call. `computed` holds (node, output) of the gradients that were seen to come out, where recorded."""
    prediction = prediction or predict(graph)
    unasked = spared(graph, prediction)
    wasted = tuple(edge for edge in unasked if _comes_out(graph, edge, computed))
    ran = frozenset(prediction.order)
    taken = ran.union(prediction.captured_only)
    left_out = tuple(node.id for node in graph.nodes if node.id not in taken)
    not_computed = tuple(edge for edge in unasked if edge not in wasted)
    behind = [edge for edge in graph.edges if edge.source not in ran]
    asked = [edge for edge in graph.edges if (edge.source, edge.output) in prediction.edges]
    run, saved, lost = (_flops(graph, edges) for edges in (asked, [*not_computed, *behind], wasted))
    seconds = sum(each.duration for each in runs)
    rate = seconds / (run + lost) if runs and run + lost else None
    return Waste(
        left_out,
        not_computed,
        wasted,
        computed is not None,
        run,
        saved,
        lost,
        None if rate is None else saved * rate,
        None if rate is None else lost * rate,
    )


def _comes_out(graph: Graph, edge: Edge, computed: Collection[tuple[int, int]] | None) -> bool:
    if computed is not None:
        return (edge.source, edge.output) in computed
    return graph.nodes[edge.source].function is not None


def _flops(graph: Graph, edges: Sequence[Edge]) -> int:
    return sum(flops(graph.nodes[edge.source], edge.output) for edge in edges)
