"""GS844: a mean that counts what a mask has set to zero.

The surprise: where the mask leaves as many elements in each batch, this is a constant factor, and nothing is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.chance import keeps_by_chance
from gradscope.explain.evidence.dataflow import CTC_LOSSES, RecordedDataflow, dataflow
from gradscope.explain.evidence.trails import trail
from gradscope.model.finding import Related
from gradscope.model.flow import FlowOperation
from gradscope.model.notice import MEAN_OF_ZEROS
from gradscope.model.operation import base_name
from gradscope.model.site import Site

_SAME_ELEMENTS = ("view", "reshape", "_unsafe_view", "squeeze", "unsqueeze", "permute", "transpose", "neg", "clone")
_FORMS = (*_SAME_ELEMENTS, "_to_copy", "expand", "t", "sub", "rsub", "bitwise_not", "logical_not")
_FILLS = ("masked_fill", "masked_fill_")
_SELECTS = ("mul", "mul_", "where")
_LABELLED = ("nll_loss_forward", "nll_loss2d_forward")  # without reduction: zero where a label is ignored


def mean_over_mask(case: Case) -> Iterator[Cause]:
    """What it flags: the mean of a loss that a mask has set to zero in places, where the mask is another one each time.

    Why: mean() divides by all elements, those that the mask left out as well. A batch with much padding has a small
    loss and small gradients, a full one large ones: what a token counts depends on its neighbours.

    Wrong:
        loss = (criterion(logits, label) * mask).mean()

    Right:
        loss = (criterion(logits, label) * mask).sum() / mask.sum()

    Do instead: divide the sum by the mask's sum, or select what counts before the mean: loss[mask].mean().

    How it is found: the share of zeros in what the line took the mean of was not the same in its first calls, and came
    from a product with truth values, a masked_fill or a where with zeros, or from an NLL loss without reduction that
    ignores labels. A hint: weights that are meant to shrink a batch's part look the same.
    """
    noticed = {notice.site for notice in case.notices() if notice.what == MEAN_OF_ZEROS}
    flow = dataflow(case)
    said: set[Site | None] = {None}
    for at, operation in enumerate(flow.operations if noticed - said else ()):
        site = operation.site
        if site in said or site not in noticed or not _is_mean(flow, at):
            continue
        masked = _masked(flow, operation.reads[0].tensor, at)
        if masked is not None:
            said.add(site)
            where = (Related("cause_at", masked.site, "the mask"),) if masked.site not in (None, site) else ()
            message = "this mean counts elements that a mask has set to zero, another share of them in each batch"
            yield Cause(message, site, where, op=operation.operation.name)


def _is_mean(flow: RecordedDataflow, at: int) -> bool:
    return base_name(flow.operations[at].operation.name) == "mean" and flow.reads_learned(at)


def _masked(flow: RecordedDataflow, tensor: int, before: int) -> FlowOperation | None:
    """The operator that has set some elements of a value to zero."""
    for at, operation in trail(flow, tensor, before, _scaled, len(flow.operations)):
        name = base_name(operation.operation.name)
        if name in _LABELLED:
            if any(flow.shape(one) for one in operation.makes[:1]):
                return operation
        elif name in _FILLS or (name in _SELECTS and _is_masking(flow, operation, at)):
            return operation
    return None


def _scaled(operation: FlowOperation) -> list[int]:
    """What an operator only brings into another form, or multiplies by a number, or by a weight of each sample."""
    is_scaled = base_name(operation.operation.name) in (*_SAME_ELEMENTS, "mul", "div")
    return [one.tensor for one in operation.reads if one.requires_grad and is_scaled]


def _is_masking(flow: RecordedDataflow, operation: FlowOperation, at: int) -> bool:
    """Whether one of what an operator reads is learned, and another is a mask."""
    learned = [flow.maker(one.tensor, at) for one in operation.reads if one.requires_grad]
    if any(one is not None and base_name(flow.operations[one].operation.name) in CTC_LOSSES for one in learned):
        return False  # zero_infinity, which is meant
    masks = (_is_truth(flow, one.tensor, at) for one in operation.reads if not one.requires_grad)
    return sum(one.requires_grad for one in operation.reads) == 1 and any(masks)


def _is_truth(flow: RecordedDataflow, tensor: int, before: int) -> bool:
    """Whether a tensor is made of truth values: a mask, in whatever form and dtype."""
    waiting, seen = [(tensor, before)], {tensor}
    while waiting:
        one, until = waiting.pop()
        known, at = flow.tensors.get(one), flow.maker(one, until)
        if known is not None and known.type.dtype == "bool":
            if known.type.shape and not (at is not None and keeps_by_chance(flow, at)):
                return True
        elif at is not None and base_name(flow.operations[at].operation.name) in _FORMS:
            waiting += [(read.tensor, at) for read in flow.operations[at].reads if read.tensor not in seen]
            seen.update(read.tensor for read in flow.operations[at].reads)
    return False
