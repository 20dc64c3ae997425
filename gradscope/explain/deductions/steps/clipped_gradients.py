"""What becomes of gradients that a line clips: whether an optimizer's step reads them before they are cleared.

Of two optimizers one may step before the line and the other behind it, so that the order of the calls says nothing.
"""

from __future__ import annotations

from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import RecordedDataflow, dataflow, is_optimizer
from gradscope.explain.evidence.optimizers import is_clipping
from gradscope.model.flow import FlowOperation
from gradscope.model.operation import base_name
from gradscope.model.site import Stack, user_site

_CLEARS = "zero_"


def is_read_by_a_step(case: Case, clips: Stack) -> bool:
    """Whether a recorded step reads what a line clips, afterwards."""
    flow, line = dataflow(case), user_site(clips)
    clipping = set(flow.under(lambda stack: is_clipping(stack) and user_site(stack) == line))
    clipped = set[int]()
    for at in range(min(clipping, default=len(flow.operations)), len(flow.operations)):
        operation = flow.operations[at]
        if at in clipping:
            clipped |= _memories(flow, operation)
        elif base_name(operation.operation.name).endswith(_CLEARS):
            clipped -= _memories(flow, operation)
        elif is_optimizer(operation) and _is_no_clip(operation) and clipped & _memories(flow, operation):
            return True
    return False


def _is_no_clip(operation: FlowOperation) -> bool:
    """A step calls its hooks, and one of those may clip."""
    return not is_clipping(operation.operation.stack)


def _memories(flow: RecordedDataflow, operation: FlowOperation) -> set[int]:
    """The memory that an operator reads."""
    read = (flow.tensors.get(one.tensor) for one in operation.reads)
    return {tensor.storage for tensor in read if tensor is not None}
