"""GS842: targets that require grad, of a loss that is to move what is compared with them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.gradients.leaves_behind import leaves_behind
from gradscope.explain.deductions.gradients.live_teachers import live_teachers
from gradscope.explain.deductions.steps.optimizer_parameters import optimizer_parameters
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import RecordedDataflow, dataflow, is_optimizer, reads_shape_only
from gradscope.explain.evidence.trails import trail
from gradscope.model.finding import Related
from gradscope.model.flow import FlowOperation
from gradscope.model.operation import base_name
from gradscope.model.site import Site
from gradscope.store.asked import kept

_TIMES = 3
_COMPARE = ("mse_loss", "smooth_l1_loss", "l1_loss", "huber_loss")
_SUMS = ("add", "sub", "rsub", "where", "lerp")
_KEEPS = ("mul", "div", "stack", "cat", "view", "reshape", "squeeze", "unsqueeze", "_to_copy")
_FAR = 8  # tensors between a slow copy and what it follows


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
    input comes too, and is mixed with data that requires none, in three steps or more. A hint. Or it comes from other
    parameters, an actor's, by way of a copy that follows those of its input and needs no gradient. Or a student's
    divergence to a teacher, in kl_div or by hand, moves parameters of the teacher that labels train in the same
    backward, and none goes the other way round.
    """
    flow = dataflow(case)
    times: Counter[Site] = Counter()
    told: dict[Site, tuple[Site, str]] = {}
    for teacher in live_teachers(case):
        line = _in_function_of(teacher.compares, flow.operations[teacher.made])
        times[line] += 1
        told[line] = (
            teacher.compares,
            "this teacher's output has its graph: its labels train it, and so does what imitates it",
        )
    for at, operation in enumerate(flow.operations):
        if base_name(operation.operation.name) not in _COMPARE or not flow.reads_learned(at) or operation.site is None:
            continue
        value, target = (*operation.reads, operation.reads[0])[:2]
        if value.tensor == target.tensor or not (value.requires_grad and target.requires_grad):
            continue
        if _is_mixed(flow, value.tensor, at) or not _is_mixed(flow, target.tensor, at):
            continue
        message = _moved(case, value.tensor, target.tensor, at)
        if message is not None:
            made = max((one for one in flow.makers.get(target.tensor, ()) if one < at), default=at)
            line = _in_function_of(operation.site, flow.operations[made])
            times[line] += 1
            told[line] = operation.site, message
    for line, count in times.items():
        if count >= _TIMES:
            compares, message = told[line]
            yield Cause(message, line, (Related("called_at", compares, "compares"),) if compares != line else ())


def _moved(case: Case, value: int, target: int, at: int) -> str | None:
    """What a target moves that it should not: the parameters of what it is compared with, or, by way of a slow copy of
    those, others."""
    flow = dataflow(case)
    learned, behind = leaves_behind(flow, value, at), leaves_behind(flow, target, at)
    if behind.trained and behind.trained <= learned.trained:
        return "this target requires grad and comes from the parameters that it is to train"
    own = {flow.tensors[one].storage for one in learned.trained if one in flow.tensors}
    slow = {flow.tensors[one].storage for one in behind.frozen if one in flow.tensors}
    moved = behind.trained & optimizer_parameters(case).held  # a network that nobody steps is moved by no loss
    follows = any(own & _followed(case).get(one, set()) for one in slow)
    if moved and follows and behind.trained.isdisjoint(learned.trained):
        return (
            "this target requires grad: by way of a slow copy of what it is to train, the loss moves other parameters"
        )
    return None


@kept
def _followed(case: Case) -> dict[int, set[int]]:
    """Which memory follows which, as the weights of a slow copy: written in place, without gradients, from its values
    and not by an optimizer."""
    flow = dataflow(case)
    found: dict[int, set[int]] = defaultdict(set)
    for at, written in flow.written.items():
        operation = flow.operations[at]
        if operation.backward is None and not operation.operation.grad and not is_optimizer(operation):
            made = (each for one in operation.reads for _, each in trail(flow, one.tensor, at, _arithmetic, _FAR))
            reads = [read for each in (operation, *made) if not reads_shape_only(each) for read in each.reads]
            sources = {flow.tensors[one.tensor].storage for one in reads if one.tensor in flow.tensors}
            for storage in written:
                found[storage] |= sources - {storage}
    return found


def _arithmetic(operation: FlowOperation) -> list[int]:
    return [one.tensor for one in operation.reads if base_name(operation.operation.name) in (*_SUMS, *_KEEPS)]


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
