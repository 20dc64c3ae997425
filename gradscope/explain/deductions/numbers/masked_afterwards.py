"""Data that holds NaN and goes through layers, whose result is masked behind them: the gradient is NaN all the same.

The mask gives the loss finite numbers, and what it hides a gradient of 0; but a layer's weights are given this 0 times
the data. The layer is not to blame: the line to edit is where the data is handed to it, in the function that masks
what comes back.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from gradscope.explain.deductions.numbers.nonfinite_sources import asks_for_gaps
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import RecordedDataflow, dataflow
from gradscope.explain.evidence.trails import trail
from gradscope.model.flow import FlowOperation
from gradscope.model.graph import Graph, Node
from gradscope.model.operation import base_name
from gradscope.model.site import Origin, Site, Stack

SELECTS = ("WhereBackward", "MaskedFillBackward", "IndexBackward", "MaskedSelectBackward", "MaskedScatterBackward")
_MASKS = ("where", "masked_fill", "index", "masked_select", "masked_scatter")
_FAR = 500  # tensors between the data and the mask
_MOST = 8  # masks that are looked behind


@dataclass(frozen=True, slots=True)
class MaskedAfterwards:
    """`site` is the line that hands the data on, `mask` the operator that hides what comes of it."""

    site: Site
    mask: FlowOperation


def masked_afterwards(case: Case, graph: Graph, leaves: tuple[str | None, ...]) -> MaskedAfterwards | None:
    """Where data with NaN goes into what is masked behind it, on the way to all leaves whose gradients are NaN."""
    flow = dataflow(case)
    selectors = {node.site for node in graph.nodes if node.name.startswith(SELECTS) and _leads_to(graph, node, leaves)}
    masks = (at for at, one in enumerate(flow.operations) if one.site in selectors and one.backward is None)
    for at in islice((at for at in masks if _name(flow.operations[at]) in _MASKS), _MOST):
        mask, data = flow.operations[at], next(_data_behind(case, flow, at), None)
        site = None if data is None else _handed_at(data.operation.stack, mask.operation.stack)
        if site is not None:
            return MaskedAfterwards(site, mask)
    return None


def _leads_to(graph: Graph, node: Node, leaves: tuple[str | None, ...]) -> bool:
    """Whether the gradients of all these leaves come through a node."""
    onward: dict[int, list[int]] = {}
    for edge in graph.edges:
        onward.setdefault(edge.source, []).append(edge.target)
    waiting, seen = [node.id], {node.id}
    while waiting:
        new = set(onward.get(waiting.pop(), ())) - seen
        seen |= new
        waiting += new
    return {graph.nodes[one].leaf for one in seen}.issuperset(leaves)


def _data_behind(case: Case, flow: RecordedDataflow, at: int) -> Iterator[FlowOperation]:
    """The operators that bring data without a graph into what is masked, where a NaN is known to be in it."""
    mask = flow.operations[at]
    asked = _asked_behind(flow, at)
    behind = [
        found
        for read in mask.reads
        if read.requires_grad
        for found in trail(flow, read.tensor, at, lambda one: _tensors(one, learned=True), _FAR)
    ]
    for place, one in sorted(behind, key=lambda found: found[0]):
        for read in one.reads:
            joins = not read.requires_grad and any(other.requires_grad for other in one.reads)
            known = joins and (_is_asked(flow, read.tensor, place, asked) or _came_in_at(case, one))
            if known and _is_data(flow, read.tensor, place):
                yield one


def _asked_behind(flow: RecordedDataflow, at: int) -> dict[int, int]:
    """The storages of what is asked for NaN to make a mask, with the place where each is."""
    return {
        storage: place
        for read in flow.operations[at].reads
        if flow.is_whole(read.tensor)
        for place, one in trail(flow, read.tensor, at, _tensors, _FAR)
        if asks_for_gaps(one)
        for storage in _storages(flow, _tensors(one))
    }


def _is_data(flow: RecordedDataflow, tensor: int, before: int) -> bool:
    """Whether a tensor holds numbers that no parameter has a part in."""
    made = [read for _, one in trail(flow, tensor, before, _tensors, _FAR) for read in _tensors(one)]
    known = [flow.tensors[one] for one in (tensor, *made) if one in flow.tensors]
    return bool(known) and not flow.is_whole(tensor) and not any(one.parameter for one in known)


def _is_asked(flow: RecordedDataflow, tensor: int, before: int, asked: dict[int, int]) -> bool:
    """Whether data is what was asked for NaN, or was made of it, and nothing has put other numbers in their place."""
    made = [read for _, one in trail(flow, tensor, before, _left_as_they_are, _FAR) for read in _left_as_they_are(one)]
    return any(
        storage in asked
        and not any(asked[storage] < at < before and storage in flow.written[at] for at in flow.written)
        for storage in _storages(flow, [tensor, *made])
    )


def _left_as_they_are(operation: FlowOperation) -> list[int]:
    """What an operator reads; nothing where it puts other numbers for NaN."""
    return [] if asks_for_gaps(operation) or _name(operation) in _MASKS else _tensors(operation)


def _tensors(operation: FlowOperation, learned: bool = False) -> list[int]:
    return [read.tensor for read in operation.reads if read.requires_grad or not learned]


def _storages(flow: RecordedDataflow, tensors: list[int]) -> set[int]:
    return {flow.tensors[one].storage for one in tensors if one in flow.tensors}


def _came_in_at(case: Case, operation: FlowOperation) -> bool:
    """Whether a NaN was seen to come in with a tensor, no parameter, that an operator was given."""
    return any(
        birth.entered
        and birth.nan > 0
        and birth.backward is None
        and birth.stack == operation.operation.stack
        and birth.argument in [given.name for given in birth.given if given.shape is not None]
        for birth in case.births()
    )


def _handed_at(inner: Stack, outer: Stack) -> Site | None:
    """The line of one stack in the function in which another parts from it; the last of both where none does."""
    common: Site | None = None
    for one, other in zip(reversed(inner), reversed(outer), strict=False):
        if one != other:
            return one if one.origin is Origin.USER and one.is_in_function_of(other) else None
        common = one
    return common if common is not None and common.origin is Origin.USER else None


def _name(operation: FlowOperation) -> str:
    return base_name(operation.operation.name).rstrip("_")
