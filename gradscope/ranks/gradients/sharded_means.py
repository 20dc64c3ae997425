"""Ranks that hold parts of one model under FSDP, which averages their gradients; and ranks whose own gradients are of
unlike sizes, as those of means over unlike numbers are."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path

from gradscope.model.graph import Graph, Node
from gradscope.model.operation import Operation
from gradscope.ranks.core.copies import Replicas
from gradscope.ranks.core.known import Ranks
from gradscope.ranks.source.attributes import calls_of
from gradscope.store.reader import Recording, load

_PARTS = ("fully_shard", "FullyShardedDataParallel", "FSDP")
_OTHERWISE = (
    *("set_gradient_divide_factor", "set_reduce_scatter_divide_factor", "set_gradient_reduce_op"),
    *("set_force_sum_reduction_for_comms", "set_custom_reduce_scatter", "register_comm_hook"),
)
_GIVES_PARTS = "c10d._reduce_scatter_base_."
_BOUNDED = ("NllLoss", "LogSoftmax", "BinaryCrossEntropyWithLogits")  # whose gradient is, whatever the targets are
_EACH = "NllLoss"  # one of each target, or the sum
_LOOKS = 3  # the first ones, when ranks have the same parameters, or nearly
_TIMES = 2.0
_INSIDE = "torch/distributed/fsdp"  # and of fully_shard(), its _fully_shard


def sharded_of(ranks: Ranks) -> Iterator[Replicas]:
    """The sets of ranks between which FSDP averages gradients, where the program leaves it to that."""
    inside = [one for one in ranks.collectives if one.inside and one.operator.startswith(_GIVES_PARTS)]
    there = {one.rank for one in ranks.ranks}
    for key in dict.fromkeys(one.group.key for one in inside if one.group is not None):
        if len(key[1]) < 2 or not there.issuperset(key[1]):
            continue
        with load(Path(ranks.rank(key[1][0]).path)) as recording:
            is_of_fsdp = any(True for _ in calls_of(recording, *_PARTS))
            if is_of_fsdp and not any(True for _ in calls_of(recording, *_OTHERWISE)):
                yield Replicas(key[1], key)


def puts_together(one: Operation) -> bool:
    """Whether an operator is FSDP's own, as that which puts parameters together for a forward."""
    return any(_INSIDE in site.file for site in one.stack)


def unlike_gradients(ranks: Ranks, replicas: Replicas) -> tuple[int, int, float] | None:
    """The first rank whose gradients are much smaller than another's, or larger: that with the small ones, the other,
    and how many times as large these are at least."""
    first, *others = replicas.members
    with load(Path(ranks.rank(first).path)) as here:
        for other in others:
            with load(Path(ranks.rank(other).path)) as there:
                times = _times_as_large(here, there)
            if times is not None:
                return (first, other, times) if times > 1 else (other, first, 1 / times)
    return None


def _times_as_large(here: Recording, there: Recording) -> float | None:
    """How much larger the gradients are that another rank's nodes received, at each of the first looks."""
    ours, theirs = (one.node_sizes() for one in (here, there))
    found: list[float] = []
    for look in sorted(ours)[:_LOOKS]:
        if not _is_bounded(here, look) or not _is_bounded(there, look) or look not in theirs:
            return None
        whole = _of_all_losses(here.graph(look))
        pairs = [(size, theirs[look].get(node, 0.0)) for node, size in ours[look].items() if node in whole]
        pairs = [one for one in pairs if one != (1.0, 1.0)]  # what a loss begins with, before anything scales it
        times = [other / size for size, other in pairs if size > 0 and other > 0 and math.isfinite(other / size)]
        if not times:
            return None
        found += times
    if len(ours) < _LOOKS or not (min(found) >= _TIMES or max(found) <= 1 / _TIMES):
        return None
    return min(found) if min(found) > 1 else max(found)


def _of_all_losses(graph: Graph) -> set[int]:
    """The nodes that hold a part of the gradient of each single loss, in a row for each: of a recurrent layer, those of
    one step alone hold what comes from the targets of some. All, where one node gives the sum."""
    many = next((math.prod(shape) for node in graph.nodes if node.name.startswith(_EACH) for shape in _shapes(node)), 1)
    return {
        node.id
        for node in graph.nodes
        if many == 1 or any(many in accumulate(shape, operator.mul) for shape in _shapes(node))
    }


def _shapes(node: Node) -> list[tuple[int, ...]]:
    """Of what form a node's gradient is."""
    return [tuple(one.shape) for one in node.inputs_meta[:1] if one is not None]


def _is_bounded(recording: Recording, backward: int) -> bool:
    """Whether a loss of classes is in a graph, whose gradient is about as large for each sample."""
    if backward not in recording.graph_sizes():
        return False
    return any(node.name.startswith(_BOUNDED) for node in recording.graph(backward).nodes)
