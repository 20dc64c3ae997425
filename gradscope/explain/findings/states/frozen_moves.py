"""GS708: parameters that the program freezes, or whose gradients it sets to zero, and that the optimizer moves all the
same."""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import partial

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.gradients.frozen_losses import freezing_lines
from gradscope.explain.deductions.steps.zeroed_by_hand import ZeroedByHand, zeroed_by_hand
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.optimizers import made_at
from gradscope.explain.evidence.syntax import syntax
from gradscope.explain.evidence.timeline import timelines
from gradscope.explain.evidence.words import several
from gradscope.functions.source import last_name
from gradscope.model.finding import Related
from gradscope.model.flow import GradientState, OptimizerLook
from gradscope.model.site import Site
from gradscope.model.training import FREEZE, STEP

_FILLS = ("copy_", "add_", "normal_", "fill_")


def frozen_weights_move(case: Case) -> Iterator[Cause]:
    """What it flags: a step that changes parameters which trained before, require no gradient by now, and were given
    none; or parameters whose gradients the program sets to zero before each step.

    Why: an optimizer leaves out what has no .grad, not what requires none or has a .grad of zeros. The .grad that a
    parameter had when it was frozen stays, as old values or as zeros, and momentum and weight decay move the parameter
    on.

    Wrong:
        for parameter in trunk.parameters():
            parameter.requires_grad_(False)
        optimizer.zero_grad(set_to_none=False)

    Right:
        for parameter in trunk.parameters():
            parameter.requires_grad_(False)
            parameter.grad = None

    Do instead: set .grad to None where you freeze, or make an optimizer without what is frozen.

    How it is found: some elements of each parameter before and after the steps that are looked at, on a CPU, and
    whether it requires a gradient then: it did in an earlier one. No backward since the step before has reached it. Of
    an optimizer that was made for a later stage, the line is the one that makes it, if no line of the program gives a
    .grad values of its own. Or a gradient is all zeros just before a step that moves the parameter, and in all later
    ones that are looked at: a line of the program, `weight.grad.zero_()`, writes zeros to gradients of its shape
    between the backward and the step, or in a hook on it, in three steps or more up to the last, and in none in which
    it learned. Of what the program itself writes to, as to put it back, nothing is said.
    """
    yield from map(partial(_zeroed, case), zeroed_by_hand(case))
    trained: dict[int, set[str]] = defaultdict(set)
    before: set[str] = set()  # by any optimizer
    said: set[int] = set()
    changed = {(one.optimizer, one.count, one.parameter) for one in case.updates() if one.changed}
    for look in case.optimizer_looks():
        times = Counter(one.name for one in look.parameters)
        frozen = [one.name for one in look.parameters if one.state is GradientState.FROZEN and times[one.name] == 1]
        moved = [one for one in frozen if one in before and (look.optimizer, look.count, one) in changed]
        own = [one for one in moved if one in trained[look.optimizer]]
        reached = _reached(case, look) if moved and look.optimizer not in said else None
        names = [] if reached is None else [one for one in own or moved if one not in reached]
        if names and (own or not _are_given(case)):
            said.add(look.optimizer)
            yield _moved(case, look, names, of_a_stage=not own)
        values = [one.name for one in look.parameters if one.state is GradientState.VALUES]
        trained[look.optimizer].update(values)
        before.update(values)


def _zeroed(case: Case, found: ZeroedByHand) -> Cause:
    """What a step moved along a gradient of zeros."""
    look, made = found.look, made_at(case, found.look.optimizer)
    whose = "whose gradient is" if len(found.names) == 1 else "whose gradients are"
    return Cause(
        f"step {look.count} moves {several(list(found.names))}, {whose} set to zero here: {look.name} goes on by "
        "momentum or weight decay",
        found.site,
        () if made is None else (Related("declared_at", made, "the optimizer"),),
        tensor=found.names[0],
        weight=len(found.names),
    )


def _moved(case: Case, look: OptimizerLook, names: list[str], *, of_a_stage: bool) -> Cause:
    """What a step moved; with `of_a_stage` by an optimizer that never trained it while it learned."""
    made, line = made_at(case, look.optimizer), _freezing(case)
    site, related = line or made, (Related("declared_at", made, "the optimizer"),)
    told = "a .grad of before is still there, and the optimizer goes on from it"
    if of_a_stage and made is not None:
        site, related = made, (Related("cause_at", line, "freezes"),)
        told = "this optimizer is given them all the same, and they have a .grad of before"
    return Cause(
        f"step {look.count} moves {several(names)}, which {'is' if len(names) == 1 else 'are'} frozen by then: {told}",
        site,
        related if line is not None and made is not None else (),
        tensor=names[0],
        weight=len(names),
    )


def _are_given(case: Case) -> bool:
    """Whether the program gives a .grad values of its own, as methods do that need no backward."""
    for file in syntax(case).files:
        for node in syntax(case).nodes(file):
            targets = node.targets if isinstance(node, ast.Assign) else ()
            value = node.value if isinstance(node, ast.Assign) else None
            is_none = isinstance(value, ast.Constant) and value.value is None
            if not is_none and any(isinstance(one, ast.Attribute) and one.attr == "grad" for one in targets):
                return True
            called = node.func if isinstance(node, ast.Call) else None
            if isinstance(called, ast.Attribute) and called.attr in _FILLS and last_name(called.value) == "grad":
                return True
    return False


def _reached(case: Case, look: OptimizerLook) -> set[str] | None:
    """The leaves that a backward has reached since the step before a look's; None where not all of these are known."""
    for timeline in timelines(case):
        numbers: list[int] = []
        for moment in timeline.moments:
            if moment.backward is not None:
                numbers.append(moment.backward.number)
            elif moment.call is not None and moment.call.kind is STEP and moment.call.optimizer == look.optimizer:
                if look.backward in numbers:
                    return _leaves(case, numbers)
                numbers = []
    return None


def _leaves(case: Case, numbers: list[int]) -> set[str] | None:
    if any(number not in case.graph_sizes() for number in numbers):
        return None
    return {node.leaf for number in numbers for node in case.graph(number).nodes if node.leaf is not None}


def _freezing(case: Case) -> Site | None:
    """The line that freezes: the last call for a module, else the only one in the source."""
    calls = [call.site for timeline in timelines(case) for _, call in timeline.of(FREEZE) if call.site is not None]
    lines = freezing_lines(case)
    return calls[-1] if calls else lines[0] if len(lines) == 1 else None
