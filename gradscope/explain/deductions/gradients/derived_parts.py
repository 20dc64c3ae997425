"""Parameters whose way ends at a derivative of less than the loss, or at one that is a constant in it.

A backward of one summand, where the sum was meant: the other summands train nothing, and no backward knows them.
"""

from __future__ import annotations

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.gradients.constant_derivatives import goes_into
from gradscope.explain.deductions.lines.graph_cuts import CONSTANT, MissingGradient, Reason
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import Way, dataflow
from gradscope.model.finding import Related
from gradscope.model.operation import base_name

_ADDS = ("add", "add_", "sub", "rsub")
PART = "GS869"


def derived_alone(case: Case, way: Way) -> MissingGradient | None:
    """The derivative by which alone a parameter could come into a loss, as a learned inner loss does into the steps
    that it leads to: without create_graph=True it is a constant there."""
    flow, calls = dataflow(case), case.backwards_by_number()
    for root in flow.roots:
        call = calls.get(root.backward) if root.tensor in way.live else None
        if call is None or call.kind != "grad" or call.create_graph or call.exception is not None:
            continue
        losses = (one for one in case.backwards() if one.number > call.number and one.kind == "backward")
        loss = next(losses, None)
        ends = [] if loss is None else [one.tensor for one in flow.roots if one.backward == loss.number]
        if any(goes_into(flow, call, end) for end in ends):
            cause = Cause("", call.site, backward=call.number)
            return MissingGradient(CONSTANT, Reason.NO_CREATE_GRAPH, cause)
    return None


def derived_part(case: Case, way: Way) -> MissingGradient | None:
    """The backward that starts from a summand of a sum to which a parameter's way leads, and which no backward knows.

    The sum is one number. One that is computed for the log only has summands that are derived, each by itself.
    """
    flow = dataflow(case)
    roots = {root.tensor: root.backward for root in flow.roots if root.requires_grad and not root.target}
    if roots.keys() & way.live:
        return None
    for at in way.operations:
        operation = flow.operations[at]
        adds = operation.backward is None and base_name(operation.operation.name) in _ADDS
        if not adds or not operation.operation.grad:
            continue
        derived = [roots[read.tensor] for read in operation.reads if read.tensor in roots]
        sums = [flow.tensors[one] for one in operation.makes if one in flow.tensors]
        call = next((call for call in case.backwards() if derived and call.number == derived[0]), None)
        if call is not None and sums and all(size == 1 for size in sums[0].type.shape):
            cause = Cause("", call.site, (Related("unused_at", operation.site, "the sum"),), backward=call.number)
            return MissingGradient(PART, Reason.PART_DERIVED, cause)
    return None
