"""GS800: an optimizer that is given one setting for another, as their names say."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import chain

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.lines.settings import calls_at
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.syntax import syntax
from gradscope.explain.evidence.timeline import timelines
from gradscope.functions.source import called_name, last_name
from gradscope.model.site import Site, Stack, user_frames
from gradscope.model.training import MADE

# Greek letters are left out: alpha is a rate to some and a decay to others.
_GIVEN = ("lr", "weight_decay", "momentum", "betas", "eps", "nesterov", "amsgrad")
_NAMED = {"lr": "lr", "learning_rate": "lr", "weight_decay": "weight_decay", "momentum": "momentum", "betas": "betas"}
_RATE_SECOND = ("SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "NAdam", "RAdam", "Adadelta", "Adamax", "LBFGS", "Muon")


def setting_of_another(case: Case) -> Iterator[Cause]:
    """What it flags: an argument of an optimizer, or of a group of its parameters, that bears the name of another one.

    Why: settings are plain numbers: a weight decay is a learning rate to whoever is given it as one, thousands of times
    too small, and the training goes on without a word.

    Wrong:
        optimizer = torch.optim.AdamW(model.parameters(), lr=config.weight_decay)

    Right:
        optimizer = torch.optim.AdamW(model.parameters(), lr=config.lr, weight_decay=config.weight_decay)

    Do instead: give each setting its own value, by its name.

    How it is found: the line that made an optimizer, and the groups of parameters written in the same function: a value
    whose last name is that of another setting, to the letter. A hint.
    """
    made = {call.stack for timeline in timelines(case) for _, call in timeline.of(MADE)}
    told = {(site, name, other) for stack in made for site, name, other in _mistaken(case, stack)}
    for site, name, other in sorted(told, key=str):
        yield Cause(f"`{name}` is given the value of `{other}` here", site, certain=False)


def _mistaken(case: Case, stack: Stack) -> Iterator[tuple[Site, str, str]]:
    """The settings of an optimizer that are given another one's value: the line, and both names."""
    own = user_frames(stack)
    if not own:
        return
    function = syntax(case).function(own[0])
    groups = (node for node in ast.walk(function) if isinstance(node, ast.Dict)) if function is not None else iter(())
    for name, value in chain(chain.from_iterable(map(_of_call, calls_at(case, own[0]))), _of_groups(groups)):
        other = _name(value)
        if other in _NAMED and _NAMED[other] != name:
            yield syntax(case).site(own[0].file, value.lineno), name, other


def _of_call(call: ast.Call) -> Iterator[tuple[str, ast.expr]]:
    if called_name(call) in _RATE_SECOND and len(call.args) > 1:
        yield "lr", call.args[1]
    yield from ((one.arg, one.value) for one in call.keywords if one.arg in _GIVEN)


def _of_groups(groups: Iterator[ast.Dict]) -> Iterator[tuple[str, ast.expr]]:
    for group in groups:
        keys = [key.value if isinstance(key, ast.Constant) else None for key in group.keys]
        if "params" in keys:
            pairs = zip(keys, group.values, strict=True)
            yield from ((str(key), value) for key, value in pairs if key in _GIVEN)


def _name(value: ast.expr) -> str:
    """`weight_decay` of `config.weight_decay` and of `config["weight_decay"]`."""
    if isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Constant):
        return str(value.slice.value)
    return last_name(value)
