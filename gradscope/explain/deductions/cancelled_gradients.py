"""A difference of two tensors of which one is the other plus a constant: its derivative is exactly zero.

It comes from straight-through estimators: the residual of a quantiser whose result passes its gradient through.
"""

from __future__ import annotations

from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.graph_cuts import DERIVATIVE, MissingGradient, Reason
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import RecordedDataflow, dataflow
from gradscope.model.finding import Severity
from gradscope.model.flow import FlowOperation
from gradscope.model.operation import base_name
from gradscope.model.site import Site


def cancelled_gradients(case: Case) -> Iterator[MissingGradient]:
    """Each line that subtracts from a tensor what it passes its own gradient through, on the way to a loss."""
    flow, said = dataflow(case), set[Site | None]()
    for operation in flow.operations:
        is_difference = base_name(operation.operation.name) == "sub" and len(operation.reads) == 2
        if not is_difference or operation.site in said or not _cancels(flow, operation):
            continue
        if not flow.useful.isdisjoint(operation.makes):
            said.add(operation.site)
            cause = Cause("", operation.site, certain=False, severity=Severity.WARNING, op=operation.operation.name)
            yield MissingGradient(DERIVATIVE, Reason.CANCELLED, cause, part=True)


def _cancels(flow: RecordedDataflow, difference: FlowOperation) -> bool:
    """Whether the gradient goes through both sides in full, with opposite signs."""
    left, right = difference.reads
    if not (left.requires_grad and right.requires_grad and difference.operation.grad):
        return False
    return _is_plus_constant(flow, right.tensor, left.tensor) or _is_plus_constant(flow, left.tensor, right.tensor)


def _is_plus_constant(flow: RecordedDataflow, tensor: int, other: int) -> bool:
    """Whether a tensor was made by adding to the other one what requires no grad."""
    for at in flow.makers.get(tensor, ()):
        maker = flow.operations[at]
        if base_name(maker.operation.name) == "add" and len(maker.reads) == 2:
            rest = [read for read in maker.reads if read.tensor != other]
            if len(rest) == 1 and not rest[0].requires_grad:
                return True
    return False
