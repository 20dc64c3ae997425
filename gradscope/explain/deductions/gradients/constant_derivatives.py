"""Finds second derivatives that are constants: taken of a first one that has its graph, and put into a loss."""

from __future__ import annotations

from collections.abc import Iterator

from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import RecordedDataflow, dataflow
from gradscope.model.graph import Backward
from gradscope.model.operation import base_name

_MEANT = ("detach", "item", "_local_scalar_dense")


def constant_derivatives(case: Case) -> Iterator[tuple[Backward, Backward]]:
    """Each grad call without create_graph whose graph holds the nodes of a derivative, with the backward of the loss
    that its result went into.

    A first derivative may be a constant in a loss, as the direction of an adversarial example is; who takes the second
    one for a step or a curvature hands it to no loss.
    """
    flow, followed = dataflow(case), {operation.backward for operation in dataflow(case).operations}
    loss: Backward | None = None
    for call in reversed(case.backwards()):
        if call.exception is not None:
            continue
        if call.kind == "backward":
            loss = call
        elif loss is not None and call.number in followed and not call.create_graph and call.nested_in is None:
            roots = (root for root in flow.roots if root.backward == loss.number and root.requires_grad)
            if _is_of_a_derivative(case, call) and any(goes_into(flow, call, root.tensor) for root in roots):
                yield call, loss


def _is_of_a_derivative(case: Case, call: Backward) -> bool:
    """Whether what is differentiated was made in a backward itself, from leaves that get gradients."""
    nodes = case.graph(call.number).nodes if call.number in case.graph_sizes() else ()
    return any(node.parent is not None for node in nodes) and any(node.accumulates for node in nodes)


def goes_into(flow: RecordedDataflow, call: Backward, root: int) -> bool:
    """Whether a forward computed the tensor from memory that the call made; what it returns is a new object of it."""
    within = [one for one in flow.operations if one.backward == call.number]
    made = {tensor for one in within for tensor in one.makes}
    given = {read.tensor for one in within for read in one.reads} - made
    storages = _storages(flow, made) - _storages(flow, given)  # a view of a parameter is no memory of its own
    seen: set[int] = set()
    waiting = [(root, len(flow.operations))]
    walked: dict[int, int] = {}
    while waiting:
        tensor, before = waiting.pop()
        if tensor in seen:
            continue
        seen.add(tensor)
        if tensor in flow.tensors and flow.tensors[tensor].storage in storages:
            return True
        for at in flow.sources(tensor, before, walked):
            operation = flow.operations[at]
            if operation.backward is None and base_name(operation.operation.name) not in _MEANT:
                waiting += [(read.tensor, at) for read in operation.reads]
    return False


def _storages(flow: RecordedDataflow, tensors: set[int]) -> set[int]:
    return {flow.tensors[one].storage for one in tensors if one in flow.tensors}
