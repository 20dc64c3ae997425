"""GS881: an advantage that takes the gradient of the policy's loss to the critic."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.chance import is_density
from gradscope.explain.evidence.dataflow import RecordedDataflow, dataflow
from gradscope.explain.evidence.trails import trail
from gradscope.model.finding import Related
from gradscope.model.flow import FlowOperation
from gradscope.model.operation import base_name
from gradscope.model.site import Site

_TIMES = 3
_FAR = 64  # operators between a density and the product, at most
_CHOOSES, _LOGARITHM = ("gather", "index", "select"), ("_log_softmax", "log")
_SUMS = ("add", "sub", "rsub")
_KEEPS = ("mul", "div", "neg", "stack", "cat", "view", "reshape", "squeeze", "unsqueeze", "sum", "flip", "select")
_ERRORS = (
    "pow",
    "square",
    "mse_loss",
    "smooth_l1_loss",
    "huber_loss",
)  # of the values, whose loss is to have a gradient
_TOTAL = "add"  # of the steps of an episode
_OF_A_RATIO = ("exp", "sub", "clamp", "minimum")  # of the new probability to the old


def advantage_with_gradient(case: Case) -> Iterator[Cause]:
    """What it flags: the logarithm of an action's probability is multiplied by an advantage that requires grad.

    Why: the advantage weighs the action: it is a constant there. Where it keeps the graph of the critic's value, the
    loss of the policy trains the critic too, which learns to be wrong in whatever direction makes that loss small.

    Wrong:
        advantage = returns - values
        policy_loss = -(log_probability * advantage).mean()

    Right:
        advantage = returns - values.detach()
        policy_loss = -(log_probability * advantage).mean()

    Do instead: detach() the values, or the advantage, in the loss of the policy.

    How it is found: in three steps or more, what log_prob() of a distribution gave, or what was chosen of a
    log_softmax, or a sum of such, is multiplied by a difference of data and of what requires grad. A hint.
    """
    flow = dataflow(case)
    times: Counter[Site] = Counter()
    lines: dict[Site, Site] = {}
    shared: set[Site] = set()
    for at, operation in enumerate(flow.operations):
        made = _advantage(flow, at) if base_name(operation.operation.name) == "mul" else None
        if made is not None and made.site is not None and operation.site is not None:
            times[made.site] += 1
            lines[made.site] = operation.site
            shared |= {made.site} if _is_an_error_too(flow, made) else set()
    for line, count in times.items():
        if count >= _TIMES:
            multiplied = Related("called_at", lines[line], "multiplied")
            computed = Related("computed_at", line, "the values' loss is made from it, too")
            site, place = (lines[line], computed) if line in shared else (line, multiplied)
            message = "this advantage requires grad: the loss of the policy moves the values that it is computed from"
            yield Cause(message, site, (place,) if lines[line] != line else (), certain=False)


def _is_an_error_too(flow: RecordedDataflow, difference: FlowOperation) -> bool:
    """Whether the loss of the values reads the difference as well, which must not be detached then where it is made."""
    readers = (flow.operations[at] for made in difference.makes for at in flow.readers.get(made, ()))
    return any(base_name(one.operation.name) in _ERRORS and one.backward is None for one in readers)


def _advantage(flow: RecordedDataflow, at: int) -> FlowOperation | None:
    """The operator that makes the difference by which a product multiplies the logarithm of a probability."""
    operation = flow.operations[at]
    learned = [one.tensor for one in operation.reads if one.requires_grad]
    if len(learned) != 2 or operation.backward is not None:
        return None
    for density, other in (learned, learned[::-1]):
        difference = _difference(flow, other, at)
        if difference is not None and _is_of_density(flow, density, at):
            return difference
    return None


def _difference(flow: RecordedDataflow, tensor: int, before: int) -> FlowOperation | None:
    """What makes a value of a sum of data and of what requires grad, up to factors and shape."""
    for at, operation in trail(flow, tensor, before, partial(_learned, flow), _FAR):
        if _mixes(flow, operation) and not _is_of_density(flow, operation.makes[0], at + 1):
            return operation
    return None


def _mixes(flow: RecordedDataflow, operation: FlowOperation) -> bool:
    """Whether an operator adds data to what requires grad."""
    data = [one for one in operation.reads if not one.requires_grad and flow.shape(one.tensor)]
    return base_name(operation.operation.name) in _SUMS and 0 < len(data) < len(operation.reads)


def _learned(flow: RecordedDataflow, operation: FlowOperation) -> list[int]:
    """What an operator only adds up or gives a factor or a form."""
    if base_name(operation.operation.name) not in (*_SUMS, *_KEEPS) or _mixes(flow, operation):
        return []
    return [one.tensor for one in operation.reads if one.requires_grad and not one.leaf]


def _is_of_density(flow: RecordedDataflow, tensor: int, before: int) -> bool:
    """Whether a value is the logarithm of a probability, or the ratio of one to another, up to factors and shape.

    A sum of such is one as well, as of all steps of an episode: a term of another kind may be meant to have a factor.
    """
    is_sum, ends = False, []
    for at, operation in trail(flow, tensor, before, _parts, _FAR):
        is_one = _is_logarithmic(flow, operation, at)
        if is_one and not is_sum:
            return True
        is_sum |= base_name(operation.operation.name) == _TOTAL
        ends += [is_one] if is_one or not _parts(operation) or _reads_a_leaf(operation) else []
    return bool(ends) and all(ends)


def _reads_a_leaf(operation: FlowOperation) -> bool:
    return any(one.leaf for one in operation.reads if one.requires_grad)


def _is_logarithmic(flow: RecordedDataflow, operation: FlowOperation, at: int) -> bool:
    """Whether an operator gives the logarithm of a probability: of a distribution's, or one chosen of a softmax's."""
    name = base_name(operation.operation.name)
    return is_density(operation.operation.stack) or (name in _CHOOSES and _is_logarithm(flow, operation, at))


def _parts(operation: FlowOperation) -> list[int]:
    if is_density(operation.operation.stack):
        return []
    if base_name(operation.operation.name) not in (*_KEEPS, *_OF_A_RATIO, _TOTAL):
        return []
    return [one.tensor for one in operation.reads if one.requires_grad]


def _is_logarithm(flow: RecordedDataflow, operation: FlowOperation, at: int) -> bool:
    made = flow.maker(operation.reads[0].tensor, at) if operation.reads else None
    return made is not None and base_name(flow.operations[made].operation.name) in _LOGARITHM
