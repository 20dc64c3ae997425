"""GS836 and GS853: a state of which nothing is loaded, and one that an optimizer has of other parameters."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.optimizers import is_in_step, made_at
from gradscope.explain.evidence.syntax import syntax
from gradscope.explain.evidence.timeline import timelines
from gradscope.model.finding import Related
from gradscope.model.site import Origin
from gradscope.model.training import LOAD_NOTHING, RESTORE, STEP, TrainingCall

_SIZES = re.compile(r"size of tensor|sizes? .*match|[Ss]hapes? .*(match|broadcast)|same (size|shape)")


def state_of_others(case: Case) -> Iterator[Cause]:
    """What it flags: load_state_dict() of an optimizer whose saved state belongs to other parameters, and a step that
    fails for that.

    Why: an optimizer's state has no names: what was kept for the third parameter goes to the third parameter. Where
    the parameters or their groups are listed in another order than when it was saved, or a layer came in between, each
    gets the averages of another; torch compares how many there are in a group, and no shapes. The step fails much
    later, and does not where the shapes happen to fit.

    Wrong:
        optimizer = torch.optim.Adam([{"params": head.parameters()}, {"params": body.parameters()}])
        optimizer.load_state_dict(saved)    # of one that was given the body first

    Right:
        optimizer = torch.optim.Adam([{"params": body.parameters()}, {"params": head.parameters()}])
        optimizer.load_state_dict(saved)

    Do instead: list the parameters in the order in which they were saved, and set learning rates after loading; or
    begin with a new state where the model has changed.

    How it is found: the shapes in the state are compared with those of the parameters when it is loaded, and a step of
    this optimizer, the last that began, raised an error about sizes. Where none was loaded, the only line of the
    program that puts a state under a parameter by hand is named, as where a scene grows by points.
    """
    for failure in case.failures():
        if is_in_step(failure.stack) and _SIZES.search(failure.message):
            calls = [call for timeline in timelines(case) for _, call in timeline.of(STEP, RESTORE)]
            stepped = next((call.optimizer for call in reversed(calls) if call.kind is STEP), None)
            loads = [call for call in calls if call.kind is RESTORE and call.optimizer == stepped]
            fails = Related("fails_at", failure.site, "the optimizer's step")
            if loads and loads[-1].count:
                yield _cause(case, loads[-1], fails)
                continue
            handed = list(syntax(case).everywhere(_hands_state_on))
            if len(handed) == 1:
                message = "a parameter is given the state of another here, whose size is not its own"
                advice = "extend, cut or begin anew what the optimizer keeps, as the parameter itself is"
                yield Cause(message, handed[0], (fails,), fails=True, certain=False, advice=advice)


def _hands_state_on(node: ast.AST) -> bool:
    """`optimizer.state[parameter] = state`"""
    targets = node.targets if isinstance(node, ast.Assign) else []
    owners = [one.value for one in targets if isinstance(one, ast.Subscript)]
    return any(isinstance(owner, ast.Attribute) and owner.attr == "state" for owner in owners)


def loads_nothing(case: Case) -> Iterator[Cause]:
    """What it flags: load_state_dict(strict=False) with a state in which no tensor of the module has its name.

    Why: strict=False passes over what is missing and over what is too much, whatever it is. A prefix that was added by
    a wrapper ("module.", "model.") or a key of the checkpoint that was taken out wrongly leaves nothing to load, and
    the training goes on from random weights.

    Wrong:
        model.load_state_dict(torch.load("checkpoint.pt"), strict=False)  # its names begin with "module."

    Right:
        state = {name.removeprefix("module."): tensor for name, tensor in torch.load("checkpoint.pt").items()}
        missing, unexpected = model.load_state_dict(state, strict=False)
        assert not unexpected

    Do instead: compare the names in the state with model.state_dict(), strip what a wrapper has added, and look at what
    load_state_dict() returns.

    How it is found: when the call was made, none of the module's parameters and buffers was given under its name.
    """
    for timeline in timelines(case):
        for _, call in timeline.of(LOAD_NOTHING):
            if call.stack and call.stack[0].origin is Origin.USER:
                given = f"the {call.count} that it is given have other names" if call.count else "it is given none"
                message = f"nothing is loaded: {call.module or 'the module'} has {call.total} tensors, and {given}"
                yield Cause(message, call.site, module=call.module)


def _cause(case: Case, load: TrainingCall, fails: Related) -> Cause:
    site = made_at(case, load.optimizer) or load.site
    message = f"the state that this optimizer is given has other shapes for {load.count} of {load.total} parameters: "
    message += "it was saved for others, or for these in another order"
    return Cause(message, site, (Related("called_at", load.site, "load_state_dict"), fails), fails=True)
