"""GS72x: the gradient that never arrives, and the words for why. Each question's docstring is its page."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.gradients.derived_parts import PART
from gradscope.explain.deductions.gradients.frozen_losses import FROZEN
from gradscope.explain.deductions.gradients.missing_gradients import DROPPED, missing_gradients
from gradscope.explain.deductions.gradients.transformed_reads import hidden_from_transforms
from gradscope.explain.deductions.gradients.unread_parameters import UNUSED
from gradscope.explain.deductions.lines.graph_cuts import (
    CUT,
    DERIVATIVE,
    HIDDEN,
    MODE,
    MissingGradient,
    Reason,
    birth,
    over_learned,
)
from gradscope.explain.deductions.memory.given_containers import is_given
from gradscope.explain.deductions.memory.plain_containers import container_around, late_container, made_plain_at
from gradscope.explain.deductions.steps.optimizer_parameters import NAMELESS, optimizer_parameters
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import RecordedDataflow, dataflow
from gradscope.explain.evidence.words import be, several
from gradscope.model.finding import Related
from gradscope.model.flow import FlowOperation, FlowTensor
from gradscope.model.operation import Operation
from gradscope.model.site import Site, user_frames, user_site

REASONS = {
    Reason.GRADIENTS_OFF: "gradients were off when {operator} ran, so its result has no graph",
    Reason.UPDATED_ANEW: "{operator} makes a new tensor of a parameter and its gradient, which requires none",
    Reason.GRADIENTS_OFF_BEFORE: "gradients were off while it was computed, and torch recorded no graph",
    Reason.NOT_TRAINED_HERE: "all of it comes from a model that is not trained here, which ran with gradients off",
    Reason.INFERENCE_TENSOR: "a tensor that was made in inference mode goes on into an operation that has to save it",
    Reason.INFERENCE_MODE: "inference mode is on here, in which nothing has a graph, under enable_grad() either",
    Reason.NO_DERIVATIVE: "{operator} gives {dtype} values, which have no derivative",
    Reason.ZERO_DERIVATIVE: "{operator} has derivative zero everywhere, so nothing passes it",
    Reason.FLAT_PART: (
        "a part of the loss reaches what is behind {operator} through it alone, and its derivative is zero everywhere: "
        "only the other parts train that"
    ),
    Reason.CANCELLED: "of this difference one side is the other plus a constant, so their gradients cancel",
    Reason.CANCELLED_IN_SUM: "one side of this difference is the other plus something, and its gradients cancel",
    Reason.NO_CREATE_GRAPH: "this derivative was taken without create_graph=True, so it is a constant",
    Reason.STRAIGHT_THROUGH: "the straight-through result is compared in its place, which has another's gradient",
    Reason.DETACHED: "{call} gives the values without their graph",
    Reason.LOADED: "load_state_dict copies the values into another module's parameters, without their graph",
    Reason.PLAIN_NUMBERS: "{call} turns the value into plain numbers, which have no graph",
    Reason.PLAIN_NUMBERS_AFTER: (
        "{call} hands out plain numbers, which have no graph; {operator} made the last result that has a graph"
    ),
    Reason.NUMBERS_ALONE: "all of it is made of numbers here",
    Reason.OTHER_TENSORS: "it is not computed from this; {operator} made the last result that has a graph",
    Reason.ALL_FROZEN: "nothing that the loss was computed from requires grad",
    Reason.FROZEN_HERE: "nothing that the loss was computed from requires grad: it is all frozen here",
    Reason.GIVEN_PLAIN: "what the optimizer is to train is made here, and does not require grad",
    Reason.RESULT_UNUSED: "what is computed from it does not go into the loss",
    Reason.NAME_OVERWRITTEN: "this gives the name `{call}` anew, and what is computed from it goes lost unread",
    Reason.PART_DERIVED: "this derives a part of a sum only, and no backward the other part, in which they are",
    Reason.NEVER_READ: "no operation that led to a loss read it",
    Reason.SIBLING_READ_TWICE: "no operation read it, and this line reads the layer built like it a second time",
    Reason.STACKED: "stack_module_state makes new parameters of the members', and the loss comes from those",
    Reason.UNDER_VMAP: "autograd does not see what runs under torch.vmap",
    Reason.GIVEN_NONE: "{operator}.backward gives None for what they come from, which torch takes for zero",
    Reason.CLEARED: "the gradients are cleared after the backward and before the step, which then changes nothing",
}
FATES = {
    Reason.ZERO_DERIVATIVE: "given a gradient of zeros only",
    Reason.CLEARED: "without a gradient when the optimizer steps",
}
NO_GRADIENT = "given no gradient, though in an optimizer"
NO_LONGER = "given {what} from the optimizer's step {step} on, after having been trained"


def reason_of(one: MissingGradient) -> str:
    """Why a gradient does not arrive, in words."""
    words = REASONS[one.reason].format(operator=one.operator, call=one.call, dtype=one.dtype)
    return f"{words}; requires_grad on the result only hides it" if one.hidden else words


def _message(one: MissingGradient) -> str:
    if one.no_graph:
        return f"the loss has no graph: {reason_of(one)}"
    if one.derivative:
        what = f" by `{one.cause.tensor}`" if one.cause.tensor not in (None, NAMELESS) else ""
        return f"the derivative{what} that is taken for the loss lacks a part: {reason_of(one)}"
    if one.part:
        return f"a part of the loss trains nothing: {reason_of(one)}"
    if one.names:
        what = "zeros for a gradient, at the latest" if one.reason is Reason.ZERO_DERIVATIVE else "no gradient"
        fate = FATES.get(one.reason, NO_GRADIENT)
        fate = NO_LONGER.format(what=what, step=one.since) if one.since is not None else fate
        return f"{several(one.names)} {be(one.names)} {fate}: {reason_of(one)}"
    return reason_of(one)


def missing(case: Case, code: str) -> Iterator[Cause]:
    """The gradients that are missing for the reason of one code."""
    return (replace(one.cause, message=_message(one)) for one in missing_gradients(case) if one.code == code)


def frozen(case: Case) -> Iterator[Cause]:
    """What it flags:
        backward() of a loss that depends on nothing that requires grad.
    Why:
        A tensor gets a graph when an operand requires grad. When every parameter is frozen and the inputs are plain
        data, no operation is recorded, and torch says "element 0 of tensors does not require grad".
    Wrong:
        model.requires_grad_(False)
        model(x).sum().backward()
    Right:
        model.requires_grad_(False)
        model.head.requires_grad_(True)
        model(x).sum().backward()
    Do instead:
        Unfreeze the parameters that shall learn before the forward.
    How it is found:
        The backward was refused, and no operator behind its loss read a tensor that required grad. The line is the one
        that makes a tensor which an optimizer is given and nobody asked to require grad, else the one that freezes.
    """
    yield from missing(case, FROZEN)


def cut(case: Case) -> Iterator[Cause]:
    """What it flags:
        A line that takes values out of the graph on their way to the loss: detach, .item(), numpy, torch.tensor().
    Why:
        These hand out the numbers and leave the history behind. What is computed from them is a constant for
        autograd: parameters before the line get no gradient, and torch says nothing unless the whole loss is cut off.
    Wrong:
        loss = criterion(torch.tensor(model(x).tolist()), y)
    Right:
        loss = criterion(model(x), y)
    Do instead:
        Keep the tensor: leave out the detach, the .item() or the copy on this line, or move it behind the loss.
    How it is found:
        The operators of the first steps, and of those after a gradient has gone, are recorded with the tensors that
        they read and made. The line is where one read a tensor that required grad and made one without, which went
        into the loss.
    """
    yield from missing(case, CUT)


def no_derivative(case: Case) -> Iterator[Cause]:
    """What it flags:
        An operation without a useful derivative on the way to the loss: argmax, a comparison, an integer cast, round.
    Why:
        Integers and booleans carry no gradient: the graph ends there. round, sign and floor keep the graph but their
        derivative is zero everywhere, so all that comes before them gets zeros.
    Wrong:
        loss = (model(x).argmax(1) != y).float().mean()
    Right:
        loss = F.cross_entropy(model(x), y)
    Do instead:
        Use a smooth stand-in: a cross entropy for accuracy, a sigmoid for a threshold, or a straight-through
        estimator.
    How it is found:
        An operator read a tensor that required grad and made an integer or boolean one that went into the loss; or
        every way from the loss to the parameter in the recorded graph leads through a node whose derivative is zero,
        be it from a later step on, where most of what learned gets zeros since;
        or a tensor is subtracted from what it was made of by adding a constant. A hint where other parts of the loss
        train the parameters: in two steps or more, a part of it reaches them through such a node alone, which neither
        weighs another result nor rounds what is compared with labels of its own.
    """
    yield from missing(case, DERIVATIVE)


def mode_off(case: Case) -> Iterator[Cause]:
    """What it flags:
        A loss, or a part of it, that was computed while gradients were off.
    Why:
        Under no_grad, inference_mode or after set_grad_enabled(False), torch records no graph. A switch that is not
        switched back stays, over epochs and files, and a decorator covers all that its function calls.
    Wrong:
        torch.set_grad_enabled(False)
        validate(model)
        model(x).sum().backward()
    Right:
        with torch.no_grad():
            validate(model)
        model(x).sum().backward()
    Do instead:
        End the no_grad block before the training forward; prefer a `with` to a switch, which nothing switches back.
    How it is found:
        Every operator is recorded with the gradient mode that it ran in. The line is the `with`, the decorator or the
        call around or before it, found in the source. A derivative by an input, such as a force, that is taken with
        create_graph=True lacks a part where such an operator stands between the input and the output.
    """
    yield from missing(case, MODE)


def hidden(case: Case) -> Iterator[Cause]:
    """What it flags:
        A loss that was cut from its graph and then given requires_grad, so that backward runs and trains nothing.
    Why:
        requires_grad_() on a result makes it a new leaf. Backward then computes the gradient of the loss with respect
        to itself; no parameter is reached, and no error is raised.
    Wrong:
        loss = torch.tensor(criterion(model(x), y).item(), requires_grad=True)
    Right:
        loss = criterion(model(x), y)
    Do instead:
        Mend the line that cuts the graph, and take the requires_grad away.
    How it is found:
        As for GS721 to GS723, where a leaf that is no parameter lies between the cut and the loss.
    """
    yield from missing(case, HIDDEN)


def not_held(case: Case) -> Iterator[Cause]:
    """What it flags:
        A parameter that gets gradients and that no optimizer holds, because no module registers it.
    Why:
        parameters() lists what is assigned as an attribute of a module: modules in a plain list or dict are not seen,
        and the result of an operation on an nn.Parameter (`nn.Parameter(w) * 0.1`) is a tensor like any other.
    Wrong:
        self.layers = [nn.Linear(8, 8) for _ in range(3)]
    Right:
        self.layers = nn.ModuleList(nn.Linear(8, 8) for _ in range(3))
    Do instead:
        Register it: nn.ModuleList or nn.ModuleDict for modules, nn.Parameter around the final value for a tensor.
    How it is found:
        A backward reached the parameter, no optimizer that stepped holds it, nothing else wrote to it, and it has no
        name in any module; or an operator under torch.func.grad and functional_call read such a one. The line is the
        one that makes the plain container of an object in which it is kept, or keeps the one that a module's __init__
        is given, else the one that puts it in, else the one that made it.
    """
    held = optimizer_parameters(case)
    for failure in case.failures():
        operation = _last_result(case) if "can't optimize a non-leaf" in failure.message else None
        if operation is not None:
            message = "the optimizer refuses the result of an operation: only a leaf, as it was made, can be optimized"
            failing = (Related("fails_at", failure.site, "the optimizer"),)
            yield Cause(message, operation.site, failing, fails=True, certain=False, op=operation.name)
    for site, parameters in _by_container(case, held.nameless):
        message = f"{_made_here(case, site, parameters)} gradients, but no module registers {_them(parameters)}"
        message += f", so no optimizer changes {_them(parameters)}"
        yield _in_container(case, Cause(message, site), parameters)
    for site, parameters in _by_container(case, hidden_from_transforms(case)):
        message = (
            f"{_made_here(case, site, parameters)} nothing under the transform: no module registers {_them(parameters)}"
        )
        message += ", so that functional_call puts nothing in their place"
        yield _in_container(case, Cause(message, site, certain=False), parameters)


def _in_container(case: Case, cause: Cause, parameters: list[FlowTensor]) -> Cause:
    """The same at the line that makes the plain container, where there is one beside that which puts them into it."""
    made = None if cause.site is None else made_plain_at(case, cause.site)
    place = (Related("retained_at", cause.site, "puts them in"),) if made is not None else ()
    if cause.site is not None and is_given(case, cause.site):
        frames = user_frames(birth(case, parameters[0].number))
        handed = next((one for one in frames if container_around(case, (one,)) == cause.site), None)
        place = (Related("made_at", handed, "made and handed over"),) if handed is not None else ()
    name = parameters[0].leaf or "parameter"
    return replace(cause, site=made or cause.site, related=place, tensor=name, weight=len(parameters))


def _last_result(case: Case) -> Operation | None:
    """What was computed last of learned numbers, or, where tensors were not followed any more, with gradients on."""
    flow, last = dataflow(case), max((block.number for block in case.blocks() if block.operations), default=0)
    if any(one.run == last for one in flow.operations[-1:]):
        learned = (at for at in range(len(flow.operations) - 1, -1, -1) if flow.reads_learned(at))
        return next((flow.operations[at].operation for at in learned), None)
    late = (block for block in case.blocks() if block.number == last and block.backward is None)
    return next((one for block in late for one in reversed(block.operations) if one.grad), None)


def unused(case: Case) -> Iterator[Cause]:
    """What it flags:
        A parameter that an optimizer holds and that no loss depends on.
    Why:
        Its .grad stays None and the optimizer skips it: a layer that forward does not call, or whose result is not
        used. Distributed training waits for its gradient and hangs or raises.
    Wrong:
        h = self.norm(x)
        return self.head(x)
    Right:
        h = self.norm(x)
        return self.head(h)
    Do instead:
        Use it in forward, or take it out; freeze it with requires_grad_(False) when it rests on purpose.
    How it is found:
        The gradient was None at every look before the optimizer's steps, and no operator that led to a loss read it.
        The line is the one that computes with it last; or the one that gives the name of that result, which nothing
        has read, to something else: a `loss =` that was to be `loss +=`.
    """
    yield from missing(case, UNUSED)


def part_derived(case: Case) -> Iterator[Cause]:
    """What it flags:
        A backward() of one part of a loss, where another name has the whole.
    Why:
        The sum is computed, and shown or logged, and looks right; what trains is the part alone.
    Wrong:
        penalty = weight_penalty(model)
        loss = criterion(model(x), y) + penalty
        penalty.backward()
    Right:
        loss.backward()
    Do instead:
        Call backward() of the sum.
    How it is found:
        An optimizer holds parameters that no backward reaches. What is computed from them is added to the tensor that a
        backward starts from, into one number that requires grad, and no backward starts from what comes of that.
    """
    yield from missing(case, PART)


def dropped(case: Case) -> Iterator[Cause]:
    """What it flags:
        Gradients that are cleared between backward() and step().
    Why:
        step() reads .grad. After zero_grad() it is None or zero, and the step changes nothing; no error is raised.
    Wrong:
        loss.backward()
        optimizer.zero_grad()
        optimizer.step()
    Right:
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    Do instead:
        Clear gradients before the backward, or after the step.
    How it is found:
        The last backward before the step reached the parameter, and its gradient was None or zero when the step began.
        Where the program sets `.grad = None` by hand and other parameters learn in that step, it is meant.
    """
    yield from missing(case, DROPPED)


def _made_here(case: Case, site: Site | None, parameters: list[FlowTensor]) -> str:
    where = "made here" if site is None or made_plain_at(case, site) is None else "put into this"
    where = "kept here in a plain list" if site is not None and is_given(case, site) else where
    return f"1 parameter {where} gets" if len(parameters) == 1 else f"{len(parameters)} parameters {where} get"


def _them(parameters: list[FlowTensor]) -> str:
    return "it" if len(parameters) == 1 else "them"


def _by_container(case: Case, parameters: tuple[FlowTensor, ...]) -> Iterator[tuple[Site | None, list[FlowTensor]]]:
    """Parameters grouped by the line that hides them in a container, or that made them."""
    groups: dict[Site | None, list[FlowTensor]] = {}
    for one in parameters:
        over = over_learned(case, one.number)
        if over is not None and _is_told(case, over.site):
            continue  # what it was made of is what should learn, and that is told
        stack = over.operation.stack if over is not None else birth(case, one.number)
        site = container_around(case, stack) or _exchanged(case, one, user_site(stack)) or user_site(stack)
        site = site or late_container(case, len(parameters))
        groups.setdefault(site, []).append(one)
    yield from groups.items()


def _is_told(case: Case, site: Site | None) -> bool:
    """Whether a cut is told of a line, or of one beside it: a layer's weight and bias are made on two."""
    cuts = (one.cause.site for one in missing_gradients(case))
    return any(one == site or (one and site and one.function and one.is_in_function_of(site)) for one in cuts)


def _exchanged(case: Case, parameter: FlowTensor, made: Site | None) -> Site | None:
    """The line of an operator whose result stands in a parameter's place from then on: nothing else reads the
    parameter, it was made in the same function, and forwards of several backward calls read the result."""
    flow = dataflow(case)
    readers = _forward_readers(flow, parameter.number)
    if len(readers) != 1 or made is None or readers[0].site is None:
        return None
    site, results = readers[0].site, readers[0].makes
    blocks = {reader.run for result in results for reader in _forward_readers(flow, result)}
    return site if site.is_in_function_of(made) and len(blocks) > 1 else None


def _forward_readers(flow: RecordedDataflow, tensor: int) -> list[FlowOperation]:
    found = (flow.operations[at] for at in flow.readers.get(tensor, ()))
    return [operation for operation in found if operation.backward is None]
