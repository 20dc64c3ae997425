"""GS883, GS884: densities that a loss makes smaller, and variances that are taken for deviations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.chance import draws_noise, is_density, is_sample
from gradscope.explain.evidence.dataflow import RecordedDataflow, dataflow
from gradscope.explain.evidence.trails import signed_terms, trail
from gradscope.model.finding import Related
from gradscope.model.flow import FlowOperation
from gradscope.model.operation import base_name
from gradscope.model.site import Site

_TIMES = 3
_FAR = 32  # tensors between a sample and where its density is asked for, or in a sum, at most
_CHOICE = "multinomial"
_SUMS = ("add", "sub", "rsub")


def density_minimised(case: Case) -> Iterator[Cause]:
    """What it flags: a loss to which the logarithm of the data's density is added, and not subtracted.

    Why: a loss is made smaller. The data becomes less and less likely: the loss falls without end, and the model
    learns whatever does not fit.

    Wrong:
        loss = Normal(mean, scale).log_prob(y).mean()

    Right:
        loss = -Normal(mean, scale).log_prob(y).mean()

    Do instead: take the negative.

    How it is found: in three steps or more, what log_prob() gave for a value that has no gradient, and was not drawn
    in the step, goes into a loss by sums and means only, with its own sign; and no density goes into it with the
    other. A hint.
    """
    flow = dataflow(case)
    inside = set(flow.under(is_density))
    times: Counter[Site] = Counter()
    for root in flow.roots if inside else ():
        found = list(signed_terms(flow, root.tensor, inside))
        if root.requires_grad and found and all(sign > 0 for _, sign in found):
            sites = {flow.operations[at].site for at, _ in found if _is_of_data(flow, at, inside)}
            times.update(one for one in sites if one is not None)
    for site, count in times.items():
        if count >= _TIMES:
            message = "the loss grows with this density and is made smaller: the data becomes less likely"
            yield Cause(message, site, certain=False)


def _is_of_data(flow: RecordedDataflow, at: int, inside: set[int]) -> bool:
    """Whether a density is that of a value without a gradient which no distribution has drawn."""
    waiting, seen = [at], {at}
    while waiting:
        one = waiting.pop()
        operation = flow.operations[one]
        name = base_name(operation.operation.name)
        values = operation.reads[:1] if name == "sub" else operation.reads[1:2] if name == "gather" else ()
        for value in values:
            tensor, before = _from_outside(flow, value.tensor, one, inside) if name == "gather" else (value.tensor, one)
            is_handed = flow.maker(tensor, before) not in inside
            if is_handed and not value.requires_grad and flow.shape(tensor):
                return not _is_drawn(flow, tensor, before)
        for read in operation.reads:
            made = flow.maker(read.tensor, one)
            if made in inside and made is not None and made not in seen:
                seen.add(made)
                waiting.append(made)
    return False


def _from_outside(flow: RecordedDataflow, tensor: int, before: int, inside: set[int]) -> tuple[int, int]:
    """What log_prob() was given, of which a tensor in it is another form."""
    at = flow.maker(tensor, before)
    while at is not None and at in inside and flow.operations[at].reads:
        tensor, before = flow.operations[at].reads[0].tensor, at
        at = flow.maker(tensor, before)
    return tensor, before


def _is_drawn(flow: RecordedDataflow, tensor: int, before: int) -> bool:
    """Whether a distribution, or multinomial(), has drawn what a tensor was made of."""
    return any(
        is_sample(one.operation.stack) or base_name(one.operation.name) == _CHOICE
        for _, one in trail(flow, tensor, before, lambda one: [read.tensor for read in one.reads], _FAR)
    )


def variance_as_deviation(case: Case) -> Iterator[Cause]:
    """What it flags: noise that is multiplied by exp(v), where the same loss takes exp(v) for the variance.

    Why: the root of the variance spreads the noise. exp(v) in place of exp(v / 2) makes it too wide where v is
    positive and too narrow where it is negative: the divergence is that of another distribution than the one drawn
    from.

    Wrong:
        z = mean + torch.randn_like(mean) * log_variance.exp()
        divergence = -0.5 * (1 + log_variance - mean**2 - log_variance.exp()).sum()

    Right:
        z = mean + torch.randn_like(mean) * (0.5 * log_variance).exp()
        divergence = -0.5 * (1 + log_variance - mean**2 - log_variance.exp()).sum()

    Do instead: exp(0.5 * log_variance) for the noise; or call it the logarithm of the deviation, and square it in the
    divergence.

    How it is found: in three steps or more, noise is multiplied by exp of a tensor, and exp of the same one is added to
    it or subtracted from it. Where the tensor has a factor in that sum, as twice the logarithm of a deviation has, the
    line is the sum's, else the noise's. A hint.
    """
    flow = dataflow(case)
    times: Counter[Site] = Counter()
    compared: dict[Site, Site | None] = {}
    for operation in flow.operations:
        is_exp = operation.backward is None and base_name(operation.operation.name) == "exp" and operation.makes
        noise = _noise(flow, operation.makes[0]) if is_exp and operation.reads[0].requires_grad else None
        added = None if noise is None else _added_to_it(flow, operation.reads[0].tensor)
        if noise is not None and added is not None:
            place, other = noise.site, added[0].site
            if added[1]:
                place, other = other, place
            if place is not None:
                times[place] += 1
                compared[place] = other
    for site, count in times.items():
        if count >= _TIMES:
            place = compared[site]
            related = () if place in (None, site) else (Related("called_at", place, "the other exp"),)
            yield Cause(
                "exp of one tensor gives the deviation of the noise, and the divergence takes it for the variance",
                site,
                related,
                certain=False,
            )


def _noise(flow: RecordedDataflow, tensor: int) -> FlowOperation | None:
    """The operator that multiplies noise by a tensor."""
    for at in flow.readers.get(tensor, ()):
        operation = flow.operations[at]
        others = [one.tensor for one in operation.reads if one.tensor != tensor]
        if operation.backward is None and base_name(operation.operation.name) == "mul" and len(others) == 1:
            made = flow.maker(others[0], at)
            if made is not None and draws_noise(flow.operations[made].operation):
                return operation
    return None


def _added_to_it(flow: RecordedDataflow, tensor: int) -> tuple[FlowOperation, bool] | None:
    """A sum of a tensor and of its exp, up to other terms; and whether the tensor has a factor there, as twice the
    logarithm of a deviation has."""
    readers = (flow.operations[at] for at in flow.readers.get(tensor, ()))
    waiting = [one.makes[0] for one in readers if one.backward is None and base_name(one.operation.name) == "exp"]
    seen = set(waiting)
    while waiting and len(seen) < _FAR:
        part = waiting.pop(0)
        for at in flow.readers.get(part, ()):
            adds = flow.operations[at]
            if adds.backward is None and base_name(adds.operation.name) in _SUMS and adds.makes:
                terms = [_term(flow, one.tensor, tensor, at) for one in adds.reads if one.tensor != part]
                found = [one for one in terms if one is not None]
                if found:
                    return adds, any(found)
                waiting += [one for one in adds.makes if one not in seen]
                seen.update(adds.makes)
    return None


def _term(flow: RecordedDataflow, total: int, tensor: int, before: int) -> bool | None:
    """Whether a tensor has a factor where it is a term of a sum; None where it is none."""
    if total == tensor:
        return False
    for _, operation in trail(flow, total, before, _terms, _FAR):
        if tensor in _terms(operation):
            return False
        if base_name(operation.operation.name) == "mul" and [one.tensor for one in operation.reads] == [tensor]:
            return True
    return None


def _terms(operation: FlowOperation) -> list[int]:
    if base_name(operation.operation.name) not in (*_SUMS, "neg"):
        return []
    return [one.tensor for one in operation.reads if one.requires_grad]
