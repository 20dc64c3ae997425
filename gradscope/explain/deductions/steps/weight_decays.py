"""The line that asks an optimizer to decay a parameter, where its steps move elements that had no gradient."""

from __future__ import annotations

import ast

from gradscope.explain.deductions.lines.settings import calls_at
from gradscope.explain.deductions.steps.parameter_groups import Group, call_at, groups_of, holder
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.optimizers import creation
from gradscope.explain.evidence.syntax import syntax
from gradscope.model.flow import OptimizerLook
from gradscope.model.hook import Hook
from gradscope.model.site import Site, user_frames
from gradscope.model.training import Update

DECAY = "weight_decay"
_DECAYS = ("AdamW",)  # if they are told nothing
_SAMPLED = 0.05  # by which the share of some elements may differ from that of all


def decay_line(case: Case, look: OptimizerLook, hook: Hook) -> Site | None:
    """The line by which the parameter of a hook decays; None where it stays, or where nothing says that it does.

    Of an optimizer with several groups it is plain where one of them names what the parameter is of, or all decay.
    """
    leaf, own = hook.on, user_frames(creation(case, look.optimizer))
    call = call_at(case, own[0], look.name) if own else None
    if call is None or stays(case, look, leaf):
        return None
    groups = groups_of(case, own, call) or []
    held = holder(case, groups, [*leaf.split("."), *_way(case, hook)])
    asked = [_asks(case, one, call, look.name) for one in groups] if held is None else []
    answer = _asks(case, held, call, look.name) if held is not None else _agreed(asked)
    if answer is False or (answer is None and not _is_proven(case, look, leaf)):
        return None
    decaying = [one for one, asks in zip(groups, asked, strict=True) if asks] if held is None else [held]
    value = decaying[0].said.get(DECAY) if len(decaying) == 1 else None
    return own[0] if value is None else syntax(case).site(decaying[0].own[0].file, value.lineno)


def stays(case: Case, look: OptimizerLook, leaf: str) -> bool:
    """Whether each step that was looked at left elements of a parameter as they were, as many as had no gradient."""
    seen = _updates(case, look, leaf)
    return bool(seen) and not any(one.changed == one.elements for one in seen) and not _is_proven(case, look, leaf)


def _way(case: Case, hook: Hook) -> list[str]:
    """The attributes by which the line that registered a hook came to the parameter: it may have no better name yet."""
    calls = calls_at(case, hook.site) if hook.site is not None else []
    given = (
        one.func.value for one in calls if isinstance(one.func, ast.Attribute) and one.func.attr == "register_hook"
    )
    value: ast.expr | None = next(given, None)
    names: list[str] = []
    while isinstance(value, ast.Attribute | ast.Subscript):
        names += [value.attr] if isinstance(value, ast.Attribute) else []
        value = value.value
    return names[::-1]


def _agreed(asked: list[bool | None]) -> bool | None:
    return asked[0] if len(set(asked)) == 1 else None


def _asks(case: Case, group: Group, call: ast.Call, name: str) -> bool | None:
    """Whether a group asks for decay, by itself or by what all groups have; None where that is not written there."""
    if any(True for _ in syntax(case).everywhere(_sets_later)):
        return None
    for said in (group.said, {one.arg or "": one.value for one in call.keywords}):
        value = said.get(DECAY)
        if value is not None:
            return not (isinstance(value, ast.Constant) and not value.value)
        if "" in said:  # **settings
            return None
    return name in _DECAYS


def _sets_later(node: ast.AST) -> bool:
    """`group["weight_decay"] = ...`"""
    keys = [one.slice for one in node.targets if isinstance(one, ast.Subscript)] if isinstance(node, ast.Assign) else []
    return any(isinstance(key, ast.Constant) and key.value == DECAY for key in keys)


def _is_proven(case: Case, look: OptimizerLook, leaf: str) -> bool:
    """Whether the first step of an optimizer, in which there is no momentum, moved elements whose gradient was zero."""
    first = next((one for one in _updates(case, look, leaf) if one.count == 0), None)
    looks = case.optimizer_looks()
    backward = next((one.backward for one in looks if (one.optimizer, one.count) == (look.optimizer, 0)), None)
    size = next((one for one in case.sizes() if (one.backward, one.leaf) == (backward, leaf)), None)
    if first is None or size is None:
        return False
    rested = 1 - first.changed / first.elements
    return rested < size.zero_share - (_SAMPLED if size.count != first.elements else 0.5 / size.count)


def _updates(case: Case, look: OptimizerLook, leaf: str) -> list[Update]:
    """What its steps changed of a parameter; nothing where another parameter has its name."""
    if sum(one.name == leaf for one in look.parameters) != 1:
        return []
    return [one for one in case.updates() if (one.optimizer, one.parameter) == (look.optimizer, leaf)]
