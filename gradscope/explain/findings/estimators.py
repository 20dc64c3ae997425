"""GS84x: gradients that are not those of the loss that is meant: samples without gradients, targets with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.chance import is_density
from gradscope.explain.evidence.dataflow import RecordedDataflow, dataflow, leaves_torch
from gradscope.explain.evidence.trails import trail
from gradscope.model.finding import Related
from gradscope.model.flow import FlowOperation
from gradscope.model.operation import base_name
from gradscope.model.site import Site, Stack

_TIMES = 3
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
_COMPARE = ("mse_loss", "smooth_l1_loss", "l1_loss", "huber_loss")
_SUMS = ("add", "sub", "rsub", "where", "lerp")
_KEEPS = ("mul", "div", "stack", "cat", "view", "reshape", "squeeze", "unsqueeze", "_to_copy")


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


def target_with_gradient(case: Case) -> Iterator[Cause]:
    """What it flags: a loss that compares two values of the same parameters, and moves both.

    Why: a target that is made by the network itself (a bootstrapped value, a pseudo label) is a constant in most
    methods. Where it requires grad, the target is moved towards the prediction, too: the network learns to agree with
    itself.

    Wrong:
        target = reward + gamma * value(next_state)
        loss = torch.nn.functional.mse_loss(value(state), target)

    Right:
        with torch.no_grad():
            target = reward + gamma * value(next_state)
        loss = torch.nn.functional.mse_loss(value(state), target)

    Do instead: detach() the target, or compute it under no_grad. Where both sides are meant to learn, nothing is wrong.

    How it is found: the target of a loss such as mse_loss requires grad, comes from parameters from which its
    input comes too, and is mixed with data that requires none, in three steps or more. A hint.
    """
    flow = dataflow(case)
    times: Counter[Site] = Counter()
    lines: dict[Site, Site] = {}
    for at, operation in enumerate(flow.operations):
        if base_name(operation.operation.name) not in _COMPARE or not flow.reads_learned(at) or operation.site is None:
            continue
        value, target = (*operation.reads, operation.reads[0])[:2]
        if value.tensor == target.tensor or not (value.requires_grad and target.requires_grad):
            continue
        if _is_mixed(flow, value.tensor, at) or not _is_mixed(flow, target.tensor, at):
            continue
        behind = _leaves_behind(flow, target.tensor, at)
        if behind and behind <= _leaves_behind(flow, value.tensor, at):
            made = max((one for one in flow.makers.get(target.tensor, ()) if one < at), default=at)
            line = _in_function_of(operation.site, flow.operations[made])
            times[line] += 1
            lines[line] = operation.site
    for line, count in times.items():
        if count >= _TIMES:
            compared = (Related("called_at", lines[line], "compares"),) if lines[line] != line else ()
            message = "this target requires grad and comes from the parameters that it is to train"
            yield Cause(message, line, compared)


def _is_mixed(flow: RecordedDataflow, tensor: int, before: int) -> bool:
    """Whether a value is a sum of what requires grad and of data, as a reward or a label, up to factors and shape."""
    for _, operation in trail(flow, tensor, before, _summed, len(flow.operations)):
        data = [one for one in operation.reads if not one.requires_grad and flow.shape(one.tensor)]
        if base_name(operation.operation.name) in _SUMS and data and len(data) < len(operation.reads):
            return True
    return False


def _summed(operation: FlowOperation) -> list[int]:
    is_sum = base_name(operation.operation.name) in (*_SUMS, *_KEEPS)
    return [one.tensor for one in operation.reads if one.requires_grad and not one.leaf and is_sum]


def _in_function_of(site: Site, operation: FlowOperation) -> Site:
    """The line that led to an operator, in the function of a line where it was called from there."""
    same = (one for one in operation.operation.stack if one.is_in_function_of(site))
    return next(same, None) or operation.site or site


def _leaves_behind(flow: RecordedDataflow, tensor: int, before: int) -> frozenset[int]:
    """The parameters that a tensor was computed from, as far as autograd goes."""
    found: set[int] = set()
    waiting, seen = [(tensor, before)], set()
    walked: dict[int, int] = {}
    while waiting:
        one, end = waiting.pop()
        if one in seen:
            continue
        seen.add(one)
        for at in flow.sources(one, end, walked):
            if flow.operations[at].backward is None and flow.operations[at].operation.grad:
                found |= {read.tensor for read in flow.operations[at].reads if read.leaf and read.requires_grad}
                waiting += [(read.tensor, at) for read in flow.operations[at].reads if read.requires_grad]
    return frozenset(found)
