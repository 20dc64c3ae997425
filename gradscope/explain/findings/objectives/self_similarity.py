"""GS760: a contrastive loss in which each sample is compared with itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import RecordedDataflow, dataflow
from gradscope.explain.evidence.forms import FORMS
from gradscope.explain.evidence.trails import trail
from gradscope.model.finding import Related
from gradscope.model.flow import FlowOperation
from gradscope.model.operation import base_name
from gradscope.model.site import Site

_TIMES = 3
_FAR = 12  # tensors between the products and the logarithm, at most
_LOGARITHMS = ("_log_softmax", "logsumexp", "log")
_SCALES = ("mul", "div", "exp", "sum", "view", "_unsafe_view", "t", "transpose", "_to_copy", "alias")
_PRODUCTS = ("mm", "bmm")


def compared_with_themselves(case: Case) -> Iterator[Cause]:
    """What it flags: the logarithm of a softmax over what all samples have in common with all, each with itself too.

    Why: a normalised vector has more in common with itself than with any other: the product is 1. In the sum below the
    fraction bar that is the largest term, and it cannot change: it drowns the others, and the loss stays high.

    Wrong:
        likeness = z @ z.T / temperature
        loss = torch.nn.functional.cross_entropy(likeness, partner)

    Right:
        likeness = (z @ z.T / temperature).fill_diagonal_(-float("inf"))
        loss = torch.nn.functional.cross_entropy(likeness, partner)

    Do instead: hide the diagonal before the softmax; or compare one view with the other only.

    How it is found: in three steps or more, a product of a tensor of samples with the same tensor, turned, goes into
    log_softmax, logsumexp or the logarithm of a sum; between the two it is only multiplied or divided by a number, and
    nothing else is added to it or put into it. A hint.
    """
    flow = dataflow(case)
    times: Counter[Site] = Counter()
    compared: dict[Site, Site | None] = {}
    for at, operation in enumerate(flow.operations):
        is_log = base_name(operation.operation.name) in _LOGARITHMS and operation.backward is None
        of_samples = is_log and flow.reads_learned(at) and any(flow.shape(one) for one in operation.makes)
        made = _product(flow, at) if of_samples else None
        if made is not None and made.site is not None:
            times[made.site] += 1
            compared[made.site] = operation.site
    for site, count in times.items():
        if count >= _TIMES:
            place = compared[site]
            related = (Related("called_at", place, "the logarithm"),) if place not in (None, site) else ()
            message = "each sample is compared with itself, too: the diagonal of this product is in the softmax"
            yield Cause(message, site, related, certain=False)


def _product(flow: RecordedDataflow, at: int) -> FlowOperation | None:
    """The product of a tensor with itself, turned, of which an operator takes the logarithm."""
    for place, one in trail(flow, flow.operations[at].reads[0].tensor, at, _scaled, _FAR):
        if any(True for made in one.makes for other in flow.sources(made, at) if other != place):
            return None  # written into, through a view: the diagonal may be hidden
        if base_name(one.operation.name) in _PRODUCTS:
            first, second = (_turned(flow, read.tensor, place) for read in one.reads[:2])
            shape = flow.shape(one.makes[0])
            return one if first == second and shape[-1:] == shape[-2:-1] else None
    return None


def _scaled(operation: FlowOperation) -> list[int]:
    """What an operator only multiplies by a number, or brings into another form."""
    learned = [one.tensor for one in operation.reads]
    return learned if base_name(operation.operation.name) in _SCALES and len(learned) == 1 else []


def _turned(flow: RecordedDataflow, tensor: int, before: int) -> int:
    """The tensor of which another is the transpose, or another form."""
    at = flow.maker(tensor, before)
    while at is not None and base_name(flow.operations[at].operation.name) in FORMS:
        tensor, before = flow.operations[at].reads[0].tensor, at
        at = flow.maker(tensor, before)
    return tensor
