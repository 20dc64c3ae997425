"""A loss that takes a straight-through result for the value that was detached in it.

x + (code - x).detach() has the value of the code and the gradient of x: what pulls it to x.detach() moves x alone.
"""

from __future__ import annotations

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.lines.graph_cuts import CUT, MissingGradient, Reason, module_of
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import Cut, RecordedDataflow, Way, dataflow
from gradscope.model.finding import Related
from gradscope.model.operation import base_name

_COMPARE = ("mse_loss", "smooth_l1_loss", "l1_loss", "huber_loss", "sub")


def compared_straight_through(case: Case, way: Way) -> MissingGradient | None:
    """The loss that compares a straight-through result with the detached value that it goes past, where what was
    detached in it has no other way to a loss."""
    flow = dataflow(case)
    for cut in way.cuts:
        passed = _passed(flow, cut)
        at = None if passed is None else _compares(flow, *passed)
        if at is not None:
            operation = flow.operations[at]
            detached = flow.operations[cut.operation].site
            related = (Related("cut_at", detached, "detached here"),) if detached not in (None, operation.site) else ()
            advice = "compare the value itself, which has a graph, with the detached one."
            cause = Cause("", operation.site, related, module=module_of(case, at), certain=False, advice=advice)
            return MissingGradient(CUT, Reason.STRAIGHT_THROUGH, cause)
    return None


def _passed(flow: RecordedDataflow, cut: Cut) -> tuple[int, int] | None:
    """Of a straight-through result: its number, and that of the value whose gradient it has."""
    made = flow.maker(cut.read, cut.operation)
    if made is None or cut.made is None or base_name(flow.operations[made].operation.name) != "sub":
        return None
    differing = {one.tensor for one in flow.operations[made].reads}
    for at in flow.readers.get(cut.made, ()):
        adds = flow.operations[at]
        value = next((one.tensor for one in adds.reads if one.tensor in differing and one.requires_grad), None)
        if base_name(adds.operation.name) == "add" and value is not None and adds.makes:
            return adds.makes[0], value
    return None


def _compares(flow: RecordedDataflow, result: int, value: int) -> int | None:
    """The operator that compares a result with a value that was detached."""
    for at in flow.readers.get(result, ()):
        operation = flow.operations[at]
        if operation.backward is None and base_name(operation.operation.name) in _COMPARE:
            for other in operation.reads:
                made = flow.maker(other.tensor, at)
                if made is not None and _detaches(flow, made, value):
                    return at
    return None


def _detaches(flow: RecordedDataflow, at: int, value: int) -> bool:
    operation = flow.operations[at]
    return base_name(operation.operation.name) == "detach" and operation.reads[0].tensor == value
