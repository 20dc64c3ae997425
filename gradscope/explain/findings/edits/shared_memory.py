"""GS83x: what should be a copy and is the thing itself; what two optimizers both change."""

from __future__ import annotations

import ast
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from itertools import combinations

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.memory.kept_aliases import kept_aliases
from gradscope.explain.deductions.memory.own_averages import own_average, shallow_copy
from gradscope.explain.deductions.steps.gradients_of_steps import held_by, steps_of
from gradscope.explain.deductions.steps.listed_parameters import listing_line
from gradscope.explain.deductions.steps.scaled_and_plain import scaled_and_plain
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import RecordedDataflow, dataflow
from gradscope.explain.evidence.optimizers import creation, made_at
from gradscope.explain.evidence.syntax import syntax
from gradscope.explain.evidence.timeline import Timeline, timelines
from gradscope.explain.evidence.words import be, several
from gradscope.model.finding import Related
from gradscope.model.operation import base_name
from gradscope.model.site import Site, user_frames
from gradscope.model.training import ASSIGN, LOAD, PARTED, STATE, STEP, TrainingCall

_TIMES = 3
_ITSELF = ("to", "cuda", "cpu", "float", "double", "half", "bfloat16", "eval", "train", "requires_grad_")
_SHARES = ("detach", "alias", "view")

_ONCE = "list each parameter once: list(dict.fromkeys(parameters)), or the parameters() of a module that holds both"


def loads_itself(case: Case) -> Iterator[Cause]:
    """What it flags: load_state_dict() of tensors that are the module's own memory.

    Why: state_dict() hands out the parameters themselves, not copies. What was kept as the best weights changes with
    each step, and loading it at the end loads what is there already. So does a target network that is the network.

    Wrong:
        if score > best_score:
            best = model.state_dict()
        ...
        model.load_state_dict(best)

    Right:
        if score > best_score:
            best = copy.deepcopy(model.state_dict())
        ...
        model.load_state_dict(best)

    Do instead: copy.deepcopy(model.state_dict()), or deepcopy the module.

    How it is found: all tensors that were given share memory with those that the module has. The line is the one that
    took them before; or, where the load takes them itself, that which gives the module its second name. Or a line
    copies weights onto themselves with copy_(): they were put aside by detach() or .data, and changed before they were
    put back.
    """
    told, filled = set[Site | None](), set[Site | None]()
    for timeline in timelines(case):
        for at, call in timeline.of(LOAD, ASSIGN):
            if call.total and call.count == call.total and call.site not in filled:
                states = [one.site for place, one in timeline.of(STATE) if place < at and one.module == call.module]
                kept = next((one for one in reversed(states) if one != call.site), None)
                if kept is not None and _each_takes(timeline, kept, call.site):
                    filled.add(call.site)  # what was taken is filled in place, and given back
                    continue
                if kept is not None and not _has_stepped(timeline, kept, at):
                    continue  # a partial load: the same
                told.add(call.site)
                yield _loaded_from_itself(case, call, kept, bool(states) and states[-1] == call.site)
                break
    for one in kept_aliases(case):
        if one.copied not in told:
            yield Cause(
                "this puts weights aside without a copy: what is copied back is what the model has by then, and "
                "nothing is restored",
                one.kept,
                (Related("called_at", one.copied, "copies them onto themselves"),),
                advice="put copies aside: parameter.detach().clone()",
            )


def _loaded_from_itself(case: Case, call: TrainingCall, kept: Site | None, is_taken_here: bool) -> Cause:
    """A load of a module's own memory, at the line that took it, or that gives the module a second name."""
    named = _same_object(case, call.site) if kept is None or is_taken_here else None
    kept = kept if named is None else None
    why = "what this keeps has changed with the model" if kept is not None else "nothing changes"
    why = "this is a second name of it and no copy" if named is not None else why
    aside = next((one.kept for one in kept_aliases(case) if one.copied == call.site), None)
    line = kept or named or aside or shallow_copy(case)
    return Cause(
        f"{call.module or 'the module'} loads its own memory: {why}",
        line or call.site,
        (Related("called_at", call.site, "load_state_dict"),) if line is not None and call.site is not None else (),
        module=call.module,
    )


def _has_stepped(timeline: Timeline, kept: Site, load: int) -> bool:
    """Whether an optimizer has stepped between a line that takes a state, as it first ran, and a load."""
    taken = next((place for place, one in timeline.of(STATE) if one.site == kept), load)
    return any(taken < place < load for place, _ in timeline.of(STEP))


def _each_takes(timeline: Timeline, kept: Site, load: Site | None) -> bool:
    """Whether a line loads several times, each time what was taken since the last step: one load of several takes may
    be of the first of them."""
    taken = {_steps_before(timeline, place) for place, one in timeline.of(STATE) if one.site == kept}
    loads = [_steps_before(timeline, place) for place, one in timeline.of(LOAD, ASSIGN) if one.site == load]
    return len(loads) > 1 and taken >= set(loads)


def _steps_before(timeline: Timeline, place: int) -> int:
    return bisect_left(timeline.places_of_steps, place)


def _same_object(case: Case, load: Site | None) -> Site | None:
    """The line that gives a second name to the module whose state is loaded into itself."""
    statement = None if load is None else syntax(case).statement(load)
    if load is None or statement is None:
        return None
    loop = syntax(case).loop(load)
    read = [*ast.walk(statement), *(ast.walk(loop.iter) if isinstance(loop, ast.For) else ())]
    names = {ast.unparse(one) for one in read if isinstance(one, (ast.Attribute, ast.Name))}
    known: dict[tuple[str, str], str] = {}
    for node in syntax(case).nodes(load.file):
        value = _same_as(node.value) if isinstance(node, ast.Assign) else None
        if isinstance(node, ast.Assign) and isinstance(value, (ast.Name, ast.Attribute)):
            name, given = ast.unparse(node.targets[0]), ast.unparse(value)
            site = syntax(case).site(load.file, node.lineno)
            if name in names - {given} and (given in names or known.setdefault((site.function, given), name) != name):
                return site
    return None


def _same_as(value: ast.expr) -> ast.expr:
    """`network` of `network.to(device).eval()`: a module's methods of these names give the module itself."""
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in _ITSELF:
        value = value.func.value
    return value


def average_of_itself(case: Case) -> Iterator[Cause]:
    """What it flags: a running average of parameters that is kept in the parameters' own memory.

    Why: state_dict(), named_parameters() and .data hand out the tensors themselves. An average that was begun with them
    and not with copies changes the model where it should follow it: decay * w + (1 - decay) * w is w.

    Wrong:
        shadow = {name: p.data for name, p in model.named_parameters()}
        for name, p in model.named_parameters():
            shadow[name].mul_(0.99).add_(p.data, alpha=0.01)

    Right:
        shadow = {name: p.detach().clone() for name, p in model.named_parameters()}

    Do instead: begin the average with clone() or deepcopy.

    How it is found: outside of optimizers a parameter's memory is multiplied in place and then added to from itself, or
    interpolated with itself; or what it lacks to itself is added to it; or a sum of two multiples of it, and of nothing
    else, is copied into it. The line began the average by an operator that shares memory, gave a second name, or is the
    only one that copies a module or a dict without what is in it: copy.copy(). A line that also writes other values
    into parameters is passed by: two modules may share a part.
    """
    found, flow = own_average(case), dataflow(case)
    if found is None:
        return
    operation = flow.operations[found.at]
    frames = user_frames(operation.operation.stack)
    begun = None if found.copied or not operation.reads else _begun_at(flow, operation.reads[0].tensor, found.at)
    begun = None if begun == operation.site else begun  # only what is averaged was taken there
    begun = begun or next(filter(None, (_same_object(case, site) for site in frames)), None) or shallow_copy(case)
    message = "this average of a parameter is kept in the parameter's own memory: it is the parameter"
    if found.copied:
        message = "this copies a sum of two multiples of a parameter into the parameter: both are the same module's"
    yield Cause(
        message,
        begun or operation.site,
        (Related("edited_at", operation.site, base_name(operation.operation.name)),)
        if begun not in (None, operation.site)
        else (),
        op=operation.operation.name,
    )


def parted_by_load(case: Case) -> Iterator[Cause]:
    """What it flags: load_state_dict(assign=True) that makes two parameters of one that has several names.

    Why: with assign=True each name gets the tensor of the state_dict as a parameter of its own. Weights that were tied,
    as those of an embedding and of the head behind it, are two from then on, and the training moves them apart.

    Wrong:
        model.head.weight = model.embedding.weight
        model.load_state_dict(torch.load(path), assign=True)

    Right:
        model.load_state_dict(torch.load(path), assign=True)
        model.head.weight = model.embedding.weight

    Do instead: tie the parameters again after loading, or load without assign=True.

    How it is found: when the model is called next, names that were one parameter before the load are several.
    """
    for timeline in timelines(case):
        for _, call in timeline.of(PARTED):
            yield Cause(f"{call.module} were one parameter and are {call.total} since this", call.site)


def stepped_twice(case: Case) -> Iterator[Cause]:
    """What it flags: two optimizers that both step the same parameters with the same gradients; or one that a scaler
    steps, and the program again.

    Why: each step goes along the gradient once more, with another learning rate and another momentum: the parameters
    move about twice as far as was meant.

    Wrong:
        body = torch.optim.Adam(model.parameters())
        head = torch.optim.Adam(model.head.parameters())
        loss.backward()
        body.step()
        head.step()

    Right:
        body = torch.optim.Adam(model.body.parameters())
        head = torch.optim.Adam(model.head.parameters())

    Do instead: give each parameter to one optimizer, or to one group of one optimizer.

    How it is found: the parameters that each optimizer holds when it steps; both step again and again with no backward
    between them, and neither steps the other. Or one optimizer holds a parameter twice, as one that two modules share;
    or its step() was called by a scaler and without one, on two lines, again and again with no backward between them.
    """
    yield from _listed_twice(case)
    yield from scaled_and_plain(case)
    known = set(steps_of(case))
    steps = Counter(pair for timeline in timelines(case) for pair in _together(timeline))
    for (first, second), times in sorted(steps.items()):
        if times < _TIMES or not {first, second} <= known:
            continue
        both = held_by(case, first).items() & held_by(case, second).items()
        if both and not (_is_part_of(case, first, second) or _is_part_of(case, second, first)):
            names = sorted(name for _, name in both)
            other = made_at(case, first)
            yield Cause(
                f"{several(names)} {be(names)} stepped by two optimizers with the same gradients, {times} times",
                made_at(case, second),
                (Related("shared_at", other, "the other optimizer"),) if other is not None else (),
                tensor=names[0],
            )


def _listed_twice(case: Case) -> Iterator[Cause]:
    """Each optimizer that was given a parameter more than once."""
    first = {look.optimizer: look for look in reversed(case.optimizer_looks())}
    for optimizer, look in sorted(first.items()):
        times = Counter(one.tensor for one in look.parameters)
        names = sorted({one.name for one in look.parameters if times[one.tensor] > 1})
        if names:
            message = (
                f"{several(names)} {be(names)} given to this optimizer more than once: each step moves them as often"
            )
            made = made_at(case, optimizer)
            listed = listing_line(case, creation(case, optimizer))
            given = (Related("shared_at", made, "the optimizer that is given it"),) if listed and made else ()
            yield Cause(message, listed or made, given, tensor=names[0], advice=_ONCE)


def _is_part_of(case: Case, inner: int, outer: int) -> bool:
    """Whether an optimizer is stepped by another one's step, as those that wrap one do."""
    places = {look.stack for look in case.optimizer_looks() if look.optimizer == outer}
    inside = (look.stack for look in case.optimizer_looks() if look.optimizer == inner)
    return any(stack[start:] in places for stack in inside for start in range(1, len(stack)))


def _begun_at(flow: RecordedDataflow, average: int, before: int) -> Site | None:
    """The line that took the average from the parameter, by an operator that shares its memory; None if none did."""
    known = flow.tensors.get(average)
    if known is None or known.parameter:
        return None
    made = (flow.operations[at] for at in flow.makers.get(average, ()) if at < before)
    return next((one.site for one in made if base_name(one.operation.name) in _SHARES), None)


def _together(timeline: Timeline) -> Iterator[tuple[int, int]]:
    """Two optimizers that step with no backward between them, once for each time that they do."""
    stepped = set[int]()
    for one in timeline.moments:
        if one.backward is not None:
            yield from combinations(sorted(stepped), 2)
            stepped = set()
        elif one.call is not None and one.call.kind is STEP and one.call.optimizer is not None:
            stepped.add(one.call.optimizer)
    yield from combinations(sorted(stepped), 2)
