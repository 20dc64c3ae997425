"""GS746: weights of samples by which the mean of all samples is multiplied."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from math import prod

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.gradients.summed_up import is_summed_up
from gradscope.explain.deductions.lines.module_builds import built_at
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import RecordedDataflow, dataflow
from gradscope.explain.evidence.trails import trail
from gradscope.model.finding import Related
from gradscope.model.flow import FlowOperation
from gradscope.model.operation import base_name
from gradscope.model.site import Site

_TIMES = 3
_FAR = 16  # operators between the mean and the product, at most
_MEANS = ("mean", "sum", "nll_loss_forward", "nll_loss2d_forward", "mse_loss", "smooth_l1_loss", "huber_loss")
_LOSSES = (*_MEANS, "binary_cross_entropy", "binary_cross_entropy_with_logits", "soft_margin_loss", "multi_margin_loss")
_KEEPS = ("neg", "add", "sub", "mul", "div", "rsub")
_ALIKE = ("ones", "ones_like", "full", "full_like", "new_ones", "new_full")


def mean_weighted(case: Case) -> Iterator[Cause]:
    """What it flags: one number, the mean or the sum over all samples, is multiplied by a weight for each sample or by
    a mask, and the products are summed up.

    Why: the loss is added up before the weights come. What is left of them is their mean, one factor for all samples:
    no sample counts more than another, and a mask hides nothing.

    Wrong:
        loss = nn.functional.cross_entropy(net(x), y)
        (loss * weights).mean().backward()

    Right:
        loss = nn.functional.cross_entropy(net(x), y, reduction="none")
        (loss * weights).mean().backward()

    Do instead: ask the loss for reduction="none", or leave the mean out, and take it of the products.

    How it is found: in three steps or more, what one mean, sum or loss has made of all samples is multiplied by data
    with a number for each of these samples, and all that is made of the products is one number. Silent where the
    weights are all alike. A hint: the factor may be meant for the whole batch.
    """
    flow = dataflow(case)
    times: Counter[Site] = Counter()
    means: dict[Site, FlowOperation] = {}
    for at, operation in enumerate(flow.operations):
        mean = _mean(flow, at, operation) if operation.backward is None and len(operation.reads) == 2 else None
        if mean is not None and operation.site is not None:
            times[operation.site] += 1
            means[operation.site] = mean
    for multiplied, count in times.items():
        if count >= _TIMES:
            site = built_at(case, means[multiplied].operation.module) or means[multiplied].site or multiplied
            yield Cause(
                "this gives one number for all samples, and a weight for each is multiplied by it: the mean of the "
                "weights alone counts, and no sample more than another",
                site,
                () if multiplied == site else (Related("called_at", multiplied, "multiplied"),),
                certain=False,
            )


def _mean(flow: RecordedDataflow, at: int, operation: FlowOperation) -> FlowOperation | None:
    """What made one number of all samples, where an operator multiplies that by a weight for each of them."""
    if base_name(operation.operation.name) != "mul" or len(operation.makes) != 1:
        return None
    number = next((one for one in operation.reads if _has_no_shape(flow, one.tensor) and one.requires_grad), None)
    weights = next((one for one in operation.reads if flow.shape(one.tensor) and not one.requires_grad), None)
    if number is None or weights is None or number.leaf or _are_alike(flow, weights.tensor, at):
        return None
    mean = _reduction(flow, number.tensor, at)
    counts = set() if mean is None else _counts(flow.shape(mean.reads[0].tensor))
    is_for_each = prod(flow.shape(weights.tensor)) in counts
    return mean if is_for_each and is_summed_up(flow, operation) else None


def _has_no_shape(flow: RecordedDataflow, tensor: int) -> bool:
    return tensor in flow.tensors and not flow.shape(tensor)


def _are_alike(flow: RecordedDataflow, tensor: int, before: int) -> bool:
    made = flow.maker(tensor, before)
    return made is not None and base_name(flow.operations[made].operation.name) in _ALIKE


def _reduction(flow: RecordedDataflow, tensor: int, before: int) -> FlowOperation | None:
    """The one operator that made a number of many, up to factors; none where it is a sum of several of those."""
    found = [
        one
        for _, one in trail(flow, tensor, before, lambda one: _numbers(flow, one), _FAR)
        if base_name(one.operation.name) in _LOSSES and one.reads and flow.shape(one.reads[0].tensor)
    ]
    return found[0] if len(found) == 1 else None


def _numbers(flow: RecordedDataflow, operation: FlowOperation) -> list[int]:
    if base_name(operation.operation.name) not in _KEEPS:
        return []
    return [one.tensor for one in operation.reads if one.requires_grad and _has_no_shape(flow, one.tensor)]


def _counts(shape: tuple[int, ...]) -> set[int]:
    """How many samples a tensor may be of: its rows, its rows and columns, all but its classes, its elements."""
    leading = {prod(shape[:until]) for until in range(1, len(shape) + 1)}
    classes = {prod(shape) // shape[1]} if len(shape) > 1 and shape[1] else set()
    return {one for one in leading | classes if one > 1}
