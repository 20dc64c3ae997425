"""GS72x: the gradient that never arrives. Each question's docstring is its page."""

from __future__ import annotations

from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.graph_cuts import CUT, DERIVATIVE, HIDDEN, MODE, born
from gradscope.explain.deductions.missing_gradients import DROPPED, FROZEN, UNUSED, missing_gradients, silent_tensors
from gradscope.explain.deductions.optimizer_parameters import optimizer_parameters
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import dataflow
from gradscope.explain.evidence.words import be, several
from gradscope.model.finding import Related
from gradscope.model.flow import FlowTensor
from gradscope.model.site import Site


def _lost(case: Case, code: str) -> Iterator[Cause]:
    return (one.cause for one in missing_gradients(case) if one.code == code)


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
        The backward was refused, and no operator behind its loss read a tensor that required grad.
    """
    yield from _lost(case, FROZEN)


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
        The operators of the first steps are recorded with the tensors that they read and made. The line is where one
        read a tensor that required grad and made one without, which went into the loss.
    """
    yield from _lost(case, CUT)


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
        every way from the loss to the parameter in the recorded graph leads through a node whose derivative is zero.
    """
    yield from _lost(case, DERIVATIVE)


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
        call around or before it, found in the source.
    """
    yield from _lost(case, MODE)


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
    yield from _lost(case, HIDDEN)


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
        name in any module.
    """
    held = optimizer_parameters(case)
    for failure in case.failures():
        results = [at for at in range(len(dataflow(case).operations)) if dataflow(case).reads_learned(at)]
        if "can't optimize a non-leaf" in failure.message and results:
            operation = dataflow(case).operations[results[-1]]
            message = "the optimizer refuses the result of an operation: only a leaf, as it was made, can be optimized"
            failing = (Related("fails_at", failure.site, "the optimizer"),)
            yield Cause(message, operation.site, failing, fails=True, certain=False, op=operation.operation.name)
    for names, parameters, site in _by_birth(case, held.nameless):
        several_names = f"{len(parameters)} parameter{'s' * (len(parameters) > 1)}"
        message = f"{several_names} made here get{'s' * (len(parameters) == 1)} gradients, but no module registers them"
        message = message if len(parameters) > 1 else message.replace("them", "it")
        yield Cause(f"{message}, so no optimizer changes them", site, tensor=names[0], weight=len(parameters))


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
    """
    yield from _lost(case, UNUSED)


def replaced(case: Case) -> Iterator[Cause]:
    """What it flags:
        A parameter that was put in place after the optimizer was built: the optimizer still holds the old one.
    Why:
        An optimizer keeps the tensors that it was given. A new layer, a new nn.Parameter or a model that was built
        again has other tensors, and these are never updated.
    Wrong:
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        model.head = nn.Linear(8, 10)
    Right:
        model.head = nn.Linear(8, 10)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    Do instead:
        Build the optimizer after the last change to the model, or add the new parameters with add_param_group.
    How it is found:
        The optimizer holds parameters that no operator reads, while a backward gives gradients to others that no
        optimizer holds.
    """
    held = optimizer_parameters(case)
    old = [one for one in held.unread if one in silent_tensors(case)]
    if not old:
        return
    for names, parameters, site in _by_birth(case, held.named):
        gone = born(case, old[0])
        related = (Related("declared_at", gone, "what the optimizer holds"),) if gone != site else ()
        others = f"the optimizer holds {len(old)} other{'s' * (len(old) > 1)} that nothing uses"
        message = f"{several(names)} {be(names)} in no optimizer: {others}"
        yield Cause(message, site, related, tensor=names[0], weight=len(parameters))


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
    """
    yield from _lost(case, DROPPED)


def _by_birth(
    case: Case, parameters: tuple[FlowTensor, ...]
) -> Iterator[tuple[tuple[str, ...], list[FlowTensor], Site | None]]:
    """Parameters grouped by the line that made them."""
    groups: dict[Site | None, list[FlowTensor]] = {}
    for one in parameters:
        groups.setdefault(born(case, one.number), []).append(one)
    for site, ones in groups.items():
        yield tuple(one.leaf or "parameter" for one in ones), ones, site
