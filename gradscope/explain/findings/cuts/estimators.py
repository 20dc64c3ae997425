"""GS840: samples without gradients, where a loss is computed from them."""

from __future__ import annotations

from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.chance import is_density
from gradscope.explain.evidence.dataflow import RecordedDataflow, dataflow, leaves_torch
from gradscope.model.operation import base_name
from gradscope.model.site import Site, Stack

_DISTRIBUTIONS = "torch/distributions/"
_SAMPLE, _NORMAL = "sample", "normal"
_DISCRETE = (
    "bernoulli",
    "binomial",
    "categorical",
    "geometric",
    "mixture_same_family",
    "multinomial",
    "negative_binomial",
    "one_hot_categorical",
    "poisson",
    "von_mises",
)


def sample_without_gradient(case: Case) -> Iterator[Cause]:
    """What it flags: sample() of a distribution that has rsample(), where the sample goes on into the loss.

    Why: sample() draws without gradients. What the loss says of the sample does not reach the distribution's
    parameters; another part of the loss, as a KL divergence, may still train them, so that nothing looks wrong.

    Wrong:
        q = torch.distributions.Normal(mean, std)
        z = q.sample()
        loss = reconstruction(decoder(z), x) + kl_divergence(q, prior).mean()

    Right:
        q = torch.distributions.Normal(mean, std)
        z = q.rsample()
        loss = reconstruction(decoder(z), x) + kl_divergence(q, prior).mean()

    Do instead: rsample(), or an estimator that weighs log_prob(sample) with the loss.

    How it is found: a sample was drawn, with gradients off, from parameters that require grad and that the same loss
    reaches in another way; operators that require grad compute the loss from it, and no log_prob() reads it. Or
    torch.normal() drew it from a mean or a deviation that require grad, by which its derivative is zero; the mean is
    not subtracted from it, as in a density.
    """
    flow = dataflow(case)
    found: dict[Site, Cause] = {}
    for at in flow.under(_draws):
        operation = flow.operations[at]
        site = operation.site
        if site is None or site in found or operation.operation.grad or operation.backward is not None:
            continue
        read = next((one.tensor for one in operation.reads if one.requires_grad), None)
        if read is not None and _is_in_loss_twice(flow, read, at):
            message = "sample() draws without gradients, and the loss is computed from it"
            found[site] = Cause(message, site, op=operation.operation.name)
    for at, operation in enumerate(flow.operations):
        site = operation.site
        is_normal = base_name(operation.operation.name) == _NORMAL and flow.reads_learned(at)
        if is_normal and site is not None and site not in found and _is_in_loss(flow, at):
            message = (
                "normal() has a derivative of zero by its mean and its deviation, and the loss is computed from it"
            )
            advice = "mean + deviation * torch.randn_like(mean), or rsample() of a distribution."
            found[site] = Cause(message, site, op=operation.operation.name, advice=advice)
    yield from found.values()


def _is_in_loss(flow: RecordedDataflow, at: int) -> bool:
    """Whether a loss is computed from what was drawn, and nothing compares that with what it was drawn around."""
    operation = flow.operations[at]
    drawn = _values_from(flow, operation.makes, at)
    if drawn is None or not any(root.tensor in drawn and root.requires_grad for root in flow.roots):
        return False
    given = {one.tensor for one in operation.reads}
    same = {*operation.makes, *(made for one in operation.makes for made in _detached(flow, one))}
    readers = (flow.operations[place] for one in same for place in flow.readers.get(one, ()))
    return not any(read.tensor in given for reader in readers for read in reader.reads)


def _detached(flow: RecordedDataflow, tensor: int) -> tuple[int, ...]:
    readers = (flow.operations[place] for place in flow.readers.get(tensor, ()))
    return tuple(made for one in readers if base_name(one.operation.name) == "detach" for made in one.makes)


def _draws(stack: Stack) -> bool:
    """Whether an operator belongs to the sample() of a distribution that is continuous."""
    for site in stack:
        file = site.file.replace("\\", "/")
        if _DISTRIBUTIONS in file:
            if file.rpartition("/")[2].removesuffix(".py") in _DISCRETE:
                return False
            if site.function == _SAMPLE:
                return True
    return False


def _is_in_loss_twice(flow: RecordedDataflow, parameter: int, at: int) -> bool:
    """Whether a loss depends on a distribution's parameter for autograd, and on what was drawn from it without."""
    drawn = _values_from(flow, flow.operations[at].makes, at)
    if drawn is None:
        return False
    live = flow.onward(parameter).live
    return any(root.tensor in drawn and root.tensor in live and root.requires_grad for root in flow.roots)


def _values_from(flow: RecordedDataflow, tensors: tuple[int, ...], at: int) -> set[int] | None:
    """The tensors whose values came from these after an operator; None where a density of a distribution did."""
    seen: set[int] = set()
    waiting = [(one, at) for one in tensors]
    while waiting:
        tensor, after = waiting.pop()
        if tensor in seen:
            continue
        seen.add(tensor)
        for reader in flow.readers.get(tensor, ()):
            operation = flow.operations[reader]
            if reader <= after or operation.backward is not None or leaves_torch(operation):
                continue
            if is_density(operation.operation.stack):
                return None
            waiting += [(made, reader) for made in operation.makes if not flow.sets_leaf(reader, made)]
    return seen
