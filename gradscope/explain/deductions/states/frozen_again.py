"""A training in stages that goes on from a checkpoint with a part frozen that had been thawed when it was saved.

No state holds what requires grad. But an optimizer keeps a state for those parameters only that had a gradient: what it
takes back for a frozen one shows that this one was trained.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.syntax import syntax
from gradscope.explain.evidence.timeline import Timeline, timelines
from gradscope.explain.evidence.words import be, several
from gradscope.functions.source import called_name
from gradscope.model.finding import Related
from gradscope.model.flow import GradientState, OptimizerLook
from gradscope.model.site import Site
from gradscope.model.training import FREEZE, RESTORE, STEP, TrainingCall

_LOOKS = 4  # at an optimizer, in all of which a part is frozen
_ADVICE = "let requires_grad follow from the stage that is resumed, as the groups of the optimizer do"


def frozen_again(case: Case) -> Iterator[Cause]:
    """The parts of a model that stay frozen after a load, though the optimizer's state tells that they were trained."""
    thaws = list(syntax(case).everywhere(_thaws))
    for timeline in timelines(case) if thaws else ():
        for at, load in timeline.of(RESTORE):
            looks = _looks_after(case, timeline, at, load)
            names = _frozen(looks, load.total) if len(looks) >= _LOOKS else []
            frozen = _frozen_before(timeline, at)
            if names and not _freezes_after(timeline, at):
                yield _cause(names, load, frozen, thaws[0])


def _cause(names: list[str], load: TrainingCall, frozen: Site | None, thaw: Site) -> Cause:
    loaded = (Related("called_at", load.site, "the optimizer's state"),) if frozen is not None else ()
    return Cause(
        f"{several(names)} {be(names)} frozen in the training that goes on, and had been trained before: the state of "
        "the optimizer that is loaded has something for each",
        frozen or load.site,
        (*loaded, Related("cause_at", thaw, "what thaws, in the training before")),
        certain=False,
        tensor=names[0],
        advice=_ADVICE,
    )


def _looks_after(case: Case, timeline: Timeline, at: int, load: TrainingCall) -> list[OptimizerLook]:
    """The looks at an optimizer since a state was loaded into it; none where it had stepped before that."""
    stepped = any(place < at and call.optimizer == load.optimizer for place, call in timeline.of(STEP))
    return [] if stepped else [look for look in case.optimizer_looks() if look.optimizer == load.optimizer]


def _frozen(looks: list[OptimizerLook], states: int) -> list[str]:
    """The parameters that are frozen in all looks, where each that the optimizer holds has a state, and some learn."""
    held = [one for look in looks for one in look.parameters]
    frozen = {one.name for one in held if one.state is GradientState.FROZEN}
    learning = {one.name for one in held if one.state is not GradientState.FROZEN}
    is_whole = all(len(look.parameters) == states for look in looks)
    return sorted(frozen) if is_whole and learning and not frozen & learning else []


def _frozen_before(timeline: Timeline, at: int) -> Site | None:
    """What froze parameters of a module before a load, since anything stepped last."""
    for one in reversed(timeline.moments[:at]):
        if one.has(STEP):
            return None
        if one.has(FREEZE) and one.call is not None and one.call.count:
            return one.site
    return None


def _freezes_after(timeline: Timeline, at: int) -> bool:
    """Whether the program freezes something of its own accord once it has loaded the state."""
    return any(one.has(FREEZE) and one.call is not None and one.call.count > 0 for one in timeline.moments[at:])


def _thaws(node: ast.AST) -> bool:
    """`module.requires_grad_(True)`, `parameter.requires_grad = True`; data is told by `requires_grad_()`."""
    if isinstance(node, ast.Call) and called_name(node) == "requires_grad_":
        return len(node.args) == 1 and _is_true(node.args[0])
    if not isinstance(node, ast.Assign) or not _is_true(node.value):
        return False
    return any(isinstance(one, ast.Attribute) and one.attr == "requires_grad" for one in node.targets)


def _is_true(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is True
