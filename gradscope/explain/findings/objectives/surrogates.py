"""GS894: a clipped surrogate of a policy's loss that takes the better of the two bounds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import RecordedDataflow, dataflow
from gradscope.explain.evidence.forms import WIDENED
from gradscope.explain.evidence.trails import signed_terms, trail
from gradscope.model.flow import FlowOperation
from gradscope.model.operation import base_name
from gradscope.model.site import Site

_TIMES = 3
_FAR = 32  # tensors in a product, at most
_FACTORS = ("mul", "neg")
_WRONG = {"minimum": 1, "maximum": -1}  # the sign with which the loss may not grow with it
_RATIOS, _FORMS = ("exp", "div"), (*WIDENED, "prod")
_CLAMPS = ("clamp", "clip", "clamp_min", "clamp_max")


def optimistic_surrogate(case: Case) -> Iterator[Cause]:
    """What it flags: of `ratio * advantage` and `clipped_ratio * advantage`, the loss takes the smaller one and is made
    smaller, or takes the larger one of what is made larger.

    Why: PPO's objective is the smaller of the two gains: a pessimistic bound, whose gradient is zero once the ratio has
    left the clipped range in the direction of the advantage. Of two losses the smaller one is the optimistic bound: the
    gradient goes on where it should stop, and the policy runs away from the one that collected the data.

    Wrong:
        loss = torch.min(-ratio * advantage, -clipped * advantage).mean()

    Right:
        loss = -torch.min(ratio * advantage, clipped * advantage).mean()

    Do instead: min() of the gains and the minus in front of it, or max() of the losses.

    How it is found: in three steps or more, minimum() of the product of a quotient (or of exp) and of the product of
    the same one clamped goes into the loss by sums and means with its own sign, or maximum() with the other. A hint.
    """
    flow = dataflow(case)
    times: Counter[Site] = Counter()
    surrogates = {at for at, one in enumerate(flow.operations) if clipped_ratios(flow, at, one)}
    for root in flow.roots if surrogates else ():
        for at, sign in signed_terms(flow, root.tensor, surrogates):
            operation = flow.operations[at]
            if operation.site is not None and sign == _WRONG[base_name(operation.operation.name)]:
                times[operation.site] += 1
    for site, count in times.items():
        if count >= _TIMES:
            message = "the loss takes the better of the clipped and the unclipped bound: clipping does not hold it back"
            yield Cause(message, site, certain=False)


def clipped_ratios(flow: RecordedDataflow, at: int, operation: FlowOperation) -> set[int]:
    """The ratios between whose product, and whose product once they are clamped, an operator chooses."""
    is_choice = base_name(operation.operation.name) in _WRONG and operation.backward is None
    if not is_choice or len(operation.reads) != 2 or not all(one.requires_grad for one in operation.reads):
        return set()
    (first, first_clamped), (second, second_clamped) = (_factors(flow, one.tensor, at) for one in operation.reads)
    return {one for one in (first & second_clamped) | (second & first_clamped) if _is_ratio(flow, one, at)}


def _is_ratio(flow: RecordedDataflow, tensor: int, before: int) -> bool:
    """Whether a tensor is a quotient, or exp of something, up to its form."""
    made = trail(flow, tensor, before, _reshaped, _FAR)
    return any(base_name(one.operation.name) in _RATIOS for _, one in made)


def _reshaped(operation: FlowOperation) -> list[int]:
    is_form = base_name(operation.operation.name) in _FORMS
    return [one.tensor for one in operation.reads if one.requires_grad and is_form]


def _factors(flow: RecordedDataflow, tensor: int, before: int) -> tuple[set[int], set[int]]:
    """The tensors that require grad of which something is a product, and those of which it is one once they are
    clamped."""
    plain: set[int] = set()
    clamped: set[int] = set()
    for _, operation in trail(flow, tensor, before, _multiplied, _FAR):
        name = base_name(operation.operation.name)
        found = clamped if name in _CLAMPS else plain if name in _FACTORS else set()
        found |= {one.tensor for one in operation.reads if one.requires_grad}
    return plain, clamped


def _multiplied(operation: FlowOperation) -> list[int]:
    if base_name(operation.operation.name) not in _FACTORS:
        return []
    return [one.tensor for one in operation.reads if one.requires_grad]
