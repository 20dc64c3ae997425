"""GS81x: a model that trains in evaluation mode, is validated in training mode, is frozen and thawed by train(), or
is frozen in name only.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.memory.frozen_copies import frozen_copies
from gradscope.explain.deductions.states.frozen_by_mode import frozen_by_mode
from gradscope.explain.deductions.states.left_at_rest import LeftAtRest, left_at_rest
from gradscope.explain.deductions.states.missed_at_times import missed_at_times
from gradscope.explain.deductions.states.mode_helpers import asking_line
from gradscope.explain.deductions.states.switched_back import switched_back
from gradscope.explain.deductions.states.thawed import thawed
from gradscope.explain.deductions.states.undone_trains import undone_trains
from gradscope.explain.deductions.states.vain_filters import vain_filters
from gradscope.explain.deductions.states.ways_back import WayBack, missed_way
from gradscope.explain.deductions.states.woken_by_train import mode_line
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.source_names import parameters_by_looks
from gradscope.explain.evidence.syntax import syntax
from gradscope.explain.evidence.timeline import Timeline, is_whole, timelines
from gradscope.explain.evidence.words import be, several
from gradscope.functions.source import last_name
from gradscope.model.finding import Related
from gradscope.model.flow import GradientState
from gradscope.model.notice import FROZEN_IN_NAME, THAWED_IN_NAME
from gradscope.model.site import Site
from gradscope.model.training import EVAL, FORWARD, LEARN, LOAD, TRAIN, TrainingCall

_TIMES = 3  # backward calls in the wrong mode


def left_in_evaluation(case: Case) -> Iterator[Cause]:
    """What it flags: a model trains in training mode, is switched to evaluation mode, and goes on training in it.

    Why: eval() stays until train() is called. Without it dropout does nothing and batch normalisation uses and keeps
    the averages of before, for the rest of the run, and nothing says so.

    Wrong:
        model.train()
        for epoch in range(10):
            train_one_epoch(model)
            model.eval()
            validate(model)

    Right:
        for epoch in range(10):
            model.train()
            train_one_epoch(model)
            model.eval()
            validate(model)

    Do instead: call train() at the beginning of each epoch, or at the end of what calls eval().

    How it is found: the mode of the outermost module at each forward with gradients, of what a wrapper such as
    DistributedDataParallel has inside, which `net.module.eval()` switches. It was training mode at first and
    evaluation mode from some call of eval() to the end of the run, and the model has layers that depend on it. Or
    train() was called, and before any forward in that mode the eval() of an evaluation, which is called again and again
    and after which the model runs without gradients first. Where the function around eval() does nothing but switch
    modes, the line is the one that calls it. Or train() is called in step after step, and a helper calls eval() for its
    own forwards, which are without gradients, before the forward that trains: that one is in evaluation mode where the
    helper was called since train(), and in training mode otherwise, under the same optimizers. Where train() is called
    below that eval() and is missed, by an early return, a condition, an exception, or as it is of other parts, the line
    is the one that misses it; also where other rounds come by train().
    """
    for timeline in timelines(case):
        left = left_at_rest(timeline)
        yield from _left(case, timeline, left)
        for train, switch, times in _switched_before(timeline):
            yield Cause(
                f"{switch.module or 'the model'} is put into training mode once, and is evaluated before it trains: "
                f"all {times} forwards with gradients since are in evaluation mode",
                train.site,
                (Related("called_at", switch.site, "eval()"),),
                module=switch.module,
            )
        others = (*undone_trains(timeline), *missed_at_times(case, timeline))
        yield from (cause for cause in others if cause.module not in {one.module for one in left})


def _left(case: Case, timeline: Timeline, left: list[LeftAtRest]) -> Iterator[Cause]:
    """What goes on training in evaluation mode, by the line that asked for that, or that misses the way back."""
    asked: dict[tuple[Site | None, WayBack | None], list[LeftAtRest]] = defaultdict(list)
    for one in left:
        way = missed_way(case, timeline, one.at, one.switch)
        asked[way.site if way is not None else asking_line(case, one.switch), way].append(one)
    for (site, way), together in asked.items():
        names = list(dict.fromkeys(one.module or "the model" for one in together))
        go, whose = ("goes", "its") if len(names) == 1 else ("go", "their")
        switches = dict.fromkeys(one.switch.site for one in together)
        after = f"after this: {max(one.times for one in together)} "
        if way is not None:
            after = f"as {way.why}: {max(one.times for one in together)} "
        places = [Related("called_at", place, "eval()") for place in switches if place != site]
        if way is not None and way.train is not None:
            places.append(Related("called_at", way.train, "train()"))
        yield Cause(
            f"{several(names)} {go} on training in evaluation mode {after}"
            f"backward calls with {sum(one.switch.total for one in together)} of {whose} layers switched",
            site,
            tuple(places),
            module=together[0].module,
        )


def frozen_in_name(case: Case) -> Iterator[Cause]:
    """What it flags: a layer is given an attribute requires_grad, which neither freezes nor thaws its parameters; or
    what state_dict() gives is frozen.

    Why: requires_grad belongs to tensors. A module takes any attribute, says nothing, and goes on as before. The values
    of state_dict() are detached: other tensors than the parameters, over the same memory.

    Wrong:
        model.encoder.requires_grad = False

    Right:
        model.encoder.requires_grad_(False)

    Do instead: call requires_grad_(False) or requires_grad_(True), with the underscore, of the module.

    How it is found: the module was called with gradients on while it had that attribute, and its parameters were the
    opposite: some of them require grad, or none does. The line is the one that sets such an attribute under the name of
    a module whose parameters still had gradients when an optimizer stepped last, or of the layer that a loop has come
    to, or else the only one that sets it on what is not a tensor by its looks. A hint: parameters for an optimizer are
    filtered by `not in` a set of computed tensors, and it steps what those are made of. Another: a function that is
    named after freezing calls eval() only, and an optimizer made after it of what requires grad steps those weights,
    in a program that sets requires_grad nowhere.
    """
    yield from vain_filters(case)
    yield from frozen_by_mode(case)
    yield from frozen_copies(case)
    told = {notice.what for notice in case.notices()}
    last = {look.optimizer: look for look in case.optimizer_looks()}
    held = (one for look in last.values() for one in look.parameters if one.state is GradientState.VALUES)
    trained = {part: one.name for one in held for part in one.name.split(".")[:-1]}
    for what, value in ((FROZEN_IN_NAME, False), (THAWED_IN_NAME, True)):
        for file, node, name in _told(case, value, trained) if what in told else ():
            then = "thaws nothing: `{}` is a module, and its parameters stay as they are"
            if what == FROZEN_IN_NAME:
                then = "freezes nothing: `{}` is a module, and its parameters are trained"
            yield Cause(
                f"this {then.format(name)}",
                syntax(case).site(file, node.lineno),
                tensor=None if value else trained.get(name),
            )


def thawed_not_held(case: Case) -> Iterator[Cause]:
    """What it flags: parameters that begin to learn in the middle of a run, and that no optimizer steps.

    Why: an optimizer keeps the tensors that it was given. One that was made of those that required grad while a part
    of the model was frozen does not come to know of the others when they are thawed: their gradients are computed, and
    nothing uses them.

    Wrong:
        backbone.requires_grad_(False)
        optimizer = Adam(p for p in model.parameters() if p.requires_grad)
        train(model, optimizer)
        backbone.requires_grad_(True)
        train(model, optimizer)

    Right:
        backbone.requires_grad_(True)
        optimizer.add_param_group({"params": backbone.parameters(), "lr": 1e-4})
        train(model, optimizer)

    Do instead: add the thawed parameters with add_param_group, build a new optimizer, or give it all parameters from
    the start.

    How it is found: the leaves that backward calls reach before an optimizer's steps, in the steps that are looked at.
    Parameters came to them that were not reached before, and no optimizer that steps from then on holds them.
    """
    found = thawed(case)
    if found is None:
        return
    names = tuple(one.leaf or "" for one in found.parameters)
    message = f"{several(names)} {be(names)} in no optimizer that steps: gradients come since they are no longer frozen"
    made = Related("declared_at", found.optimizer, "the optimizer, made without them")
    site = found.site or found.optimizer
    related = (made,) if found.optimizer is not None and site != found.optimizer else ()
    yield Cause(message, site, related, certain=False, tensor=names[0], backward=found.backward, weight=len(names))


def _told(case: Case, value: bool, trained: Mapping[str, str]) -> list[tuple[str, ast.Assign, str]]:
    """The lines that set such an attribute of a module: of one that is known to be, or else the only one there is.

    One that gives a constant counts before one that gives what it was handed.
    """
    known: list[tuple[str, ast.Assign, str]] = []
    others: list[tuple[str, ast.Assign, str]] = []
    handed: list[tuple[str, ast.Assign, str]] = []
    for file in syntax(case).files:
        nodes = syntax(case).nodes(file)
        tensors = parameters_by_looks(nodes) | {"self"}  # whose class may have a setting of that name
        layers = {last_name(node.target) for node in nodes if isinstance(node, ast.For)} - tensors
        for node in nodes:
            name = _switched(node)
            if isinstance(node, ast.Assign) and name and name not in tensors:
                if not isinstance(node.value, ast.Constant):
                    handed.append((file, node, name))
                elif node.value.value is value:
                    sure = name in layers or (not value and name in trained)
                    (known if sure else others).append((file, node, name))
    found = others or handed
    return known or (found if len(found) == 1 else [])


def _switched(node: ast.AST) -> str:
    """`encoder` of `model.encoder.requires_grad = False`."""
    target = node.targets[0] if isinstance(node, ast.Assign) else None
    return last_name(target.value) if isinstance(target, ast.Attribute) and target.attr == "requires_grad" else ""


def validated_in_training_mode(case: Case) -> Iterator[Cause]:
    """What it flags: a model that trains is called without gradients in training mode, and is never switched.

    Why: in training mode dropout drops, and batch normalisation normalises by the batch at hand and moves its averages:
    what validation sees is not what the model will do, and what validation computes changes the model.

    Wrong:
        with torch.no_grad():
            score = metric(model(x), y)

    Right:
        model.eval()
        with torch.no_grad():
            score = metric(model(x), y)
        model.train()

    Do instead: model.eval() before validation, model.train() after it.

    How it is found: the outermost module's mode at each forward. Its layers are known to depend on the mode from a call
    of train(), and eval() is not called before training is over. Some programs mean it (dropout as a sample of models).
    Or a state is loaded after the training into another model of the same class, which is called without a switch. Or
    eval() is called again and again in vain: train() of the same model follows before each forward without gradients,
    and none is in evaluation mode.
    """
    for timeline in timelines(case) if is_whole(case) and len(timelines(case)) == 1 else ():
        yield from _loaded(timeline)
        yield from switched_back(timeline)
        until = timeline.backwards[-1] if timeline.backwards else 0  # what comes after the training is no validation
        if any(at < until for at, _ in timeline.of(EVAL)):
            continue
        calls = [(at, call) for at, call in timeline.of(FORWARD) if at < until]
        trained = {call.module for _, call in calls if call.total and call.count}
        sensitive = {call.module for _, call in timeline.of(TRAIN) if call.total}
        for at, call in calls:
            if call.count and not call.total and call.module in trained & sensitive:
                before = timeline.before(at, TRAIN)
                switch = (
                    before.site if before is not None and before.has(TRAIN) and at > timeline.backwards[0] else None
                )
                yield Cause(
                    f"{call.module} is called in training mode without gradients, and eval() is not called while it "
                    "trains: its layers drop, or keep averages, as if this were training",
                    switch or call.site,
                    (Related("called_at", call.site, "forward"),) if switch is not None else (),
                    certain=False,
                    module=call.module,
                )
                break


def _loaded(timeline: Timeline) -> Iterator[Cause]:
    """A model that is loaded when training is over, and called in the mode in which a new one is."""
    over = timeline.backwards[-1] if timeline.backwards else 0
    switches = [call for _, call in timeline.of(TRAIN, EVAL)]
    sensitive = {_class_of(call) for call in switches if call.total and call.kind is EVAL}
    loads = [(at, call) for at, call in timeline.of(LOAD) if at > over]
    for at, load in loads:
        after = [call for later, call in timeline.of(FORWARD) if later > at and _class_of(call) == _class_of(load)]
        trained = {call.module for _, call in timeline.of(FORWARD) if call.total}
        known = trained | {call.module for call in switches}
        fresh = [call for call in after if call.module not in known and call.count]
        if fresh and _class_of(load) in sensitive:
            yield Cause(
                f"{fresh[0].module} is loaded here and called without eval(): a new model is in training mode, where "
                "its layers drop, and normalise by the batch at hand",
                load.site,
                (Related("called_at", fresh[0].site, "forward"),),
                certain=False,
                module=fresh[0].module,
                advice="call eval() of the model once it is loaded",
            )
            return


def _class_of(call: TrainingCall) -> str:
    return (call.module or "").partition("#")[0]


def thawed_by_train(case: Case) -> Iterator[Cause]:
    """What it flags: layers that were put into evaluation mode one by one, and that train() of the model puts back.

    Why: frozen batch normalisation is to keep its averages. train() sets the mode of all that is inside, so that from
    the next epoch on the layers normalise by the batch again and their averages move, frozen weights or not.

    Wrong:
        for layer in model.encoder.modules():
            if isinstance(layer, torch.nn.BatchNorm2d):
                layer.eval()
        for epoch in range(10):
            model.train()
            train_one_epoch(model)

    Right:
        for epoch in range(10):
            model.train()
            for layer in model.encoder.modules():
                if isinstance(layer, torch.nn.BatchNorm2d):
                    layer.eval()
            train_one_epoch(model)

    Do instead: put them into evaluation mode after each train(), or in the model's own train().

    How it is found: eval() was called of single layers that compute something else then; train() of the only model that
    trains changed modes after that, no other call came for these layers, and the model trains on. A hint: the layers
    may be meant to train again.
    """
    for timeline in timelines(case):
        found = _thawed(timeline)
        if found is not None and found.times >= _TIMES:
            names = sorted(found.rested)
            whose = "its" if len(names) == 1 else "their"
            site, train = mode_line(case, found.switch), found.switch.site
            yield Cause(
                f"train() puts {several(names)} back into training mode, out of an eval() of {whose} own",
                site,
                (
                    Related("declared_at", found.rested[names[0]].site, "eval()"),
                    *((Related("called_at", train, "train()"),) if train not in (None, site) else ()),
                ),
                certain=False,
                module=found.switch.module,
            )


@dataclass
class _Thaw:
    """A train() of the model that reaches layers at rest, the eval() of each, and how often the model trains after."""

    switch: TrainingCall
    rested: dict[str, TrainingCall]
    times: int = 0


def _thawed(timeline: Timeline) -> _Thaw | None:
    """The last train() that switches single layers back, where but one model trains."""
    models = {call.module for _, call in timeline.of(FORWARD) if call.count and call.total}
    rested: dict[str, TrainingCall] = {}
    thaw: _Thaw | None = None
    for _, call in timeline.of(EVAL, TRAIN, LEARN, FORWARD) if len(models) == 1 else ():
        if call.kind is LEARN:
            rested, thaw = {}, None
        elif call.kind is FORWARD and thaw is not None:
            thaw.times += bool(call.count and call.total)
        elif call.kind is TRAIN and call.module in models and call.count and rested:
            thaw, rested = _Thaw(call, rested), {}
        elif call.kind is TRAIN and call.module is not None:
            rested.pop(call.module, None)
        elif call.kind is EVAL and call.module is not None and call.module not in models:
            if thaw is not None and thaw.times < _TIMES:
                thaw = None  # they are put to rest again in time, one by one or with what is around them
            if call.total == 1:
                rested[call.module] = call
    return thaw


def _switched_before(timeline: Timeline) -> Iterator[tuple[TrainingCall, TrainingCall, int]]:
    """The train() and eval() of a model that then trains in evaluation mode only, and how many forwards that is."""
    calls: dict[str | None, list[TrainingCall]] = defaultdict(list)
    for _, call in timeline.of(TRAIN, EVAL, FORWARD):
        calls[call.module].append(call)
    for ones in calls.values():
        train = next((call for call in ones if call.kind is TRAIN), None)
        after = ones[ones.index(train) + 1 :] if train is not None else []
        evals = [call for call in after if call.kind is EVAL]
        forwards = [call for call in ones if call.kind is FORWARD and call.total]
        trained_so = not any(call.count for call in forwards) and not any(call.kind is TRAIN for call in after)
        if train is None or len(evals) < _TIMES or not evals[0].total or len(forwards) < _TIMES or not trained_so:
            continue
        first = {call.total for call, before in zip(after[1:], after, strict=False) if before.kind is EVAL}
        if first == {0}:  # each eval() is followed by a forward without gradients
            yield train, evals[0], len(forwards)
