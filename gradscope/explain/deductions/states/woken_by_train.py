"""Finds the train() that wakes frozen parts: it puts back into training mode what an eval() of their own had rested."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from gradscope.explain.deductions.lines.settings import calls_at
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import dataflow
from gradscope.explain.evidence.syntax import syntax
from gradscope.explain.evidence.timeline import Timeline, timelines
from gradscope.functions.source import called_name
from gradscope.model.module import ModuleCall
from gradscope.model.site import Origin, Site, Stack, user_frames
from gradscope.model.training import EVAL, FORWARD, TRAIN, TrainingCall


@dataclass(frozen=True, slots=True)
class Waking:
    """The last eval() of a part, and the train() of what is around it that came next."""

    rest: TrainingCall
    train: TrainingCall


def waking(case: Case, stacks: set[Stack]) -> Waking | None:
    """What woke the parts whose layers run here, where the parameters of these layers get no gradient since then."""
    around = Around(case, stacks)
    parameters = _read(case, stacks)
    for timeline in timelines(case):
        for at, found in _wakings(timeline, around):
            since = next((one.backward.number for one in timeline.moments[at:] if one.backward is not None), None)
            if since is not None and not _is_trained(case, parameters, since):
                return found
    return None


def mode_line(case: Case, train: TrainingCall) -> Site | None:
    """The line of a train(), or the call that chose for what: where its function was given something for modes only."""
    own = user_frames(train.stack)
    function = syntax(case).function(own[0]) if len(own) > 1 else None
    if not isinstance(function, ast.FunctionDef) or own[1].function == own[0].function:
        return train.site
    calls = [call.func for call in calls_at(case, own[0]) if called_name(call) == "train"]
    named = {ast.unparse(one.value) for one in calls if isinstance(one, ast.Attribute)}
    switched = named & {one.arg for one in (*function.args.args, *function.args.kwonlyargs)} - {"self"}
    return own[1] if len(switched) == 1 and _is_for_modes(function, switched.pop()) else train.site


def _is_for_modes(function: ast.FunctionDef, name: str) -> bool:
    """Whether a function does nothing with an argument but switch its mode."""
    uses = sum(isinstance(node, ast.Name) and node.id == name for node in ast.walk(function))
    modes = (node for node in ast.walk(function) if isinstance(node, ast.Attribute) and node.attr in ("train", "eval"))
    return uses == sum(isinstance(one.value, ast.Name) and one.value.id == name for one in modes)


class Around:
    """The modules around some layers, by what calls of train() and eval() may name them."""

    def __init__(self, case: Case, stacks: set[Stack]) -> None:
        self.parts, self._models = set[str](), set[str]()
        self._called = set[str | None]()
        for operation in case.operators():
            if operation.stack in stacks and operation.module is not None:
                self.parts |= {name for call in _inner(operation.module) for name in (call.path, call.module_class)}
                self._models.add(operation.module.outermost.module_class)
        for timeline in timelines(case):
            self._called |= {call.module for _, call in timeline.of(FORWARD) if _is_around(call.stack, stacks)}

    def holds(self, call: TrainingCall) -> bool:
        """Whether a call is one of a module around them: by its class, or as no other is called on the way to them."""
        return module_name(call) in {*self._models, *self.parts} or self._called == {call.module}

    def wakes(self, call: TrainingCall, rest: TrainingCall, trained: set[str]) -> bool:
        """Whether it is the program's train() of a model around them: by its class, or none of another name trains."""
        is_model = module_name(call) in self._models or len(trained) == 1
        return call.kind is TRAIN and call.count >= max(rest.count, 1) and is_model and is_own(call)


def _is_around(stack: Stack, inner: set[Stack]) -> bool:
    """Whether something ran inside of a call."""
    return any(one[-len(stack) :] == stack for one in inner)


def _inner(module: ModuleCall) -> Iterator[ModuleCall]:
    """A module and those around it, without the outermost."""
    call: ModuleCall | None = module
    while call is not None and call.parent is not None:
        yield call
        call = call.parent


def module_name(call: TrainingCall) -> str:
    """What a call names its module, without its number among others of that name."""
    return (call.module or "").partition("#")[0]


def _wakings(timeline: Timeline, around: Around) -> Iterator[tuple[int, Waking]]:
    """Each train() around parts at rest, with its place, behind which a forward of the training follows."""
    trained = {module_name(call) for _, call in timeline.of(FORWARD) if call.count and call.total}
    rest: TrainingCall | None = None
    woken: tuple[int, Waking] | None = None
    for at, call in timeline.of(EVAL, TRAIN, FORWARD):
        if call.kind is FORWARD and call.count and call.total and woken is not None:
            yield woken
            rest, woken = None, None
        elif call.kind in (EVAL, TRAIN) and module_name(call) in around.parts:
            rest, woken = (call if call.kind is EVAL else None), None  # it rests already where all was evaluated before
        elif rest is not None and woken is None and around.wakes(call, rest, trained):
            woken = at, Waking(rest, call)


def is_own(call: TrainingCall) -> bool:
    """Whether the program calls train() itself, and no library does."""
    return next((site.origin for site in call.stack if site.origin is not Origin.TORCH), None) is Origin.USER


def _read(case: Case, stacks: set[Stack]) -> set[int]:
    """The tensors that operators at these places read."""
    operations = (one for one in dataflow(case).operations if one.operation.stack in stacks)
    return {read.tensor for one in operations for read in one.reads}


def _is_trained(case: Case, tensors: set[int], since: int) -> bool:
    """Whether a backward from this one on gives one of them a gradient."""
    return any(leaf.backward >= since and leaf.tensor in tensors for leaf in case.leaf_gradients())
