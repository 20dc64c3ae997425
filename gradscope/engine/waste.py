"""What a call with `inputs=` spares, and what it computes for nothing, with an estimate of the work and the time.

Built-in nodes are told which gradients are asked for, and compute no others, unless one operator makes all at once. A
custom Function is not told: whether it made one that nobody asked for, only its results say.
"""

from __future__ import annotations

import enum
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from gradscope.engine.flops import flops
from gradscope.engine.needs import spared
from gradscope.engine.order import Prediction, predict
from gradscope.model.graph import Edge, Graph, Node
from gradscope.model.statistics import NodeRun

# Nodes whose one backward operator has several results, and no mask that says which (derivatives.yaml, torch 2.13).
ALL_AT_ONCE = frozenset(
    f"{name}Backward"
    for name in (
        *("ConvTbc", "CudnnAttention", "CudnnBatchNorm", "CudnnGridSampler", "EfficientAttention", "FlashAttention"),
        *("FakeQuantizeLearnablePerChannelAffine", "FakeQuantizeLearnablePerTensorAffine"),
        *("GridSampler2DCpuFallback", "LstmMps", "MiopenBatchNorm", "MkldnnRnnLayer", "PreluKernel"),
        *("ScaledDotProductCudnnAttention", "ScaledDotProductFlashAttention"),
        *("ScaledDotProductFlashAttentionForCpu", "ThnnFusedGruCell", "ThnnFusedLstmCell", "WeightNormInterface"),
    )
)


class Fate(enum.Enum):
    """What becomes of a gradient that a node which runs is not asked for."""

    SPARED = "spared"
    WASTED = "computed for nothing"
    NEVER_MADE = "never computed, asked for or not"
    UNKNOWN = "not recorded"


@dataclass(frozen=True, slots=True)
class Waste:
    """Pruning of one call. Times are seconds, None where they were not measured; operations and times are estimates.

    `left_out` are nodes that no gradient is sent to, `not_computed` edges of nodes that run whose gradient is not
    computed, `wasted` edges whose gradient is computed and thrown away, `unknown` those of custom Functions whose
    results were not seen. `certain`: the results were seen.
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
    unknown: tuple[Edge, ...] = ()


def waste(
    graph: Graph,
    prediction: Prediction | None = None,
    runs: Sequence[NodeRun] = (),
    computed: Collection[tuple[int, int]] | None = None,
) -> Waste:
    """Judge one call. `computed` holds (node, output) of the gradients that were seen to come out, where recorded."""
    prediction = prediction or predict(graph)
    unasked = spared(graph, prediction)
    fates = {edge: _fate(graph.nodes[edge.source], edge, computed) for edge in unasked}
    wasted = tuple(edge for edge, fate in fates.items() if fate is Fate.WASTED)
    ran = frozenset(prediction.order)
    taken = ran.union(prediction.captured_only)
    left_out = tuple(node.id for node in graph.nodes if node.id not in taken)
    not_computed = tuple(edge for edge, fate in fates.items() if fate is Fate.SPARED)
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
        tuple(edge for edge, fate in fates.items() if fate is Fate.UNKNOWN),
    )


def _fate(node: Node, edge: Edge, computed: Collection[tuple[int, int]] | None) -> Fate:
    if computed is not None and (edge.source, edge.output) in computed:
        return Fate.WASTED
    if node.function is None:
        return Fate.WASTED if makes_all_at_once(node) else Fate.SPARED
    return Fate.UNKNOWN if computed is None else Fate.NEVER_MADE


def makes_all_at_once(node: Node) -> bool:
    """Whether one operator computes all gradients of a built-in node, and is not told which ones are asked for."""
    return node.short_name.rstrip("0123456789") in ALL_AT_ONCE


def _flops(graph: Graph, edges: Sequence[Edge]) -> int:
    return sum(flops(graph.nodes[edge.source], edge.output) for edge in edges)
