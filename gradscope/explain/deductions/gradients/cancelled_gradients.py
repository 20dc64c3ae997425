"""A difference of two tensors of which one is the other plus something: what both hold gets no gradient from it.

It comes from straight-through estimators (the residual of a quantiser whose result passes its gradient through), and
from a sample of a distribution (its mean plus noise) whose density under the same distribution is asked for.
"""

from __future__ import annotations

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.lines.graph_cuts import DERIVATIVE, MissingGradient, Reason
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import RecordedDataflow, dataflow
from gradscope.model.finding import Related, Severity
from gradscope.model.flow import FlowOperation, Read
from gradscope.model.operation import base_name
from gradscope.model.site import Site
from gradscope.store.asked import kept

_ADVICE = {
    Reason.CANCELLED: "detach() the side that is subtracted.",
    Reason.CANCELLED_IN_SUM: "detach() one of them: what log_prob() is given comes from sample(), not rsample().",
}


@kept
def cancelled_gradients(case: Case) -> tuple[MissingGradient, ...]:
    """Each line that subtracts from a tensor what it passes its own gradient through, on the way to a loss."""
    flow, found = dataflow(case), dict[Site | None, MissingGradient]()
    for operation in flow.operations:
        is_difference = base_name(operation.operation.name) == "sub" and len(operation.reads) == 2
        if not is_difference or not operation.operation.grad or operation.site in found:
            continue
        one = _cancelled(flow, operation)
        if one is not None and not flow.useful.isdisjoint(operation.makes):
            found[operation.site] = one
    return tuple(found.values())


def _cancelled(flow: RecordedDataflow, difference: FlowOperation) -> MissingGradient | None:
    """What goes through both sides of a difference in full, with opposite signs; None for nothing."""
    left, right = difference.reads
    if not (left.requires_grad and right.requires_grad):
        return None
    for total, other in ((left, right), (right, left)):
        for at in flow.makers.get(total.tensor, ()):
            rest = _added(flow.operations[at], other.tensor)
            if rest is not None and not rest.requires_grad:
                return _found(Reason.CANCELLED, difference)
            if rest is not None and all(_goes_only_to(flow, one.tensor, (at, difference)) for one in (total, other)):
                return _found(Reason.CANCELLED_IN_SUM, difference, flow.operations[at])
    return None


def _added(maker: FlowOperation, other: int) -> Read | None:
    """What an operator added to a tensor; None where it did something else."""
    if base_name(maker.operation.name) != "add" or len(maker.reads) != 2:
        return None
    rest = [read for read in maker.reads if read.tensor != other]
    return rest[0] if len(rest) == 1 else None


def _goes_only_to(flow: RecordedDataflow, tensor: int, known: tuple[int, FlowOperation]) -> bool:
    """Whether a gradient comes to a tensor from a sum and a difference alone: what else reads it has no graph."""
    adds, difference = known
    for at in flow.readers.get(tensor, ()):
        one = flow.operations[at]
        if at != adds and one is not difference and any(_has_graph(flow, made, at) for made in one.makes):
            return False
    return True


def _has_graph(flow: RecordedDataflow, made: int, at: int) -> bool:
    met = flow.later(made, at)
    return met is not None and met.requires_grad


def _found(reason: Reason, difference: FlowOperation, adds: FlowOperation | None = None) -> MissingGradient:
    place = () if adds is None else (Related("added_at", adds.site, adds.operation.name),)
    operator = difference.operation.name
    cause = Cause(
        "", difference.site, place, certain=False, severity=Severity.WARNING, advice=_ADVICE[reason], op=operator
    )
    return MissingGradient(DERIVATIVE, reason, cause, part=True)
