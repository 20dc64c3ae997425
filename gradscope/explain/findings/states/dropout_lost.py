"""GS897: a dropout that an evaluation switches off, and that nothing switches on again."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.lines.deciding_lines import asked_around
from gradscope.explain.deductions.states.evaluation_lines import Line, attributes_behind, evaluation_lines, functions_of
from gradscope.explain.deductions.states.lost_draws import LostDraw, lost_draws
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.syntax import syntax
from gradscope.functions.source import called_name, last_name
from gradscope.model.finding import Related
from gradscope.model.operation import Operation
from gradscope.model.site import user_frames

_LAYERS = "torch/nn/modules/dropout.py"
_RATE = "p"  # an nn.Dropout's
_BUILDS = ("__init__", "__new__", "__post_init__", "__setstate__", "reset_parameters")
_SETTERS = ("setattr", "__setattr__")  # of any name
_NOTHING = ("Identity", "Sequential")


def dropout_lost(case: Case) -> Iterator[Cause]:
    """What it flags: an evaluation that switches a dropout off for good, where it is to be off for the evaluation only.

    Why: eval() and train() put a module's `training` back and forth, and nothing else. A rate, a flag or a layer that
    the evaluation sets stays as it was set: the training goes on in training mode, without what held it back.

    Wrong:
        def forward(self, x):
            if not self.training:
                self.p = 0.0
            return F.dropout(x, self.p)

    Right:
        def forward(self, x):
            return F.dropout(x, self.p, training=self.training)

    Do instead: ask self.training where it drops, or put back after the evaluation what it has changed.

    How it is found: a line drew random numbers in each forward of the training up to the model's first evaluation, and
    in none of those after it, which are in training mode still. A statement that only an evaluation runs sets an
    attribute to zero, False, None or an Identity which that line, or a branch before it, reads; nothing but the
    building of objects sets it otherwise.
    """
    for lost in lost_draws(case):
        found = _switched_off(case, lost)
        if found is not None:
            file, statement, name = found
            yield Cause(
                f"an evaluation sets {name} and nothing puts it back: the model drew random numbers in all "
                f"{lost.before} forwards of the training before it, and draws none in the {lost.after} after it",
                syntax(case).site(file, statement.lineno),
                (Related("used_at", lost.operation.site, "drew until then"),),
                certain=False,
                op=lost.operation.name,
            )


def _switched_off(case: Case, lost: LostDraw) -> tuple[str, ast.stmt, str] | None:
    """The line of the evaluation that switches off what decides over a draw, and what it sets as it is written."""
    shared = functions_of(case, [lost.operation.stack])
    trains = functions_of(case, [call.stack for call in lost.trainings])
    again = functions_of(case, [call.stack for call in lost.again])
    first = functions_of(case, [call.stack for call in lost.evaluation])
    own = [one for one in first if one in again and one not in {**shared, **trains}]
    lines, read = evaluation_lines(case, own, shared), _read(case, lost.operation)
    for file, statement in lines:
        target = _set_to_nothing(statement)
        if target is not None and target.attr in read and not _is_set_elsewhere(case, target.attr, lines):
            return file, statement, ast.unparse(target)
    return None


def _set_to_nothing(statement: ast.stmt) -> ast.Attribute | None:
    """`m.p` of `m.p = 0.0`, `model.drop` of `model.drop = nn.Identity()`."""
    if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Attribute):
        return None
    value = statement.value
    empty = isinstance(value, ast.Call) and called_name(value) in _NOTHING and not value.args
    return statement.targets[0] if empty or (isinstance(value, ast.Constant) and not value.value) else None


def _read(case: Case, operation: Operation) -> set[str]:
    """The attributes that decide whether, and with what, an operator draws."""
    own = user_frames(operation.stack)
    found = {name for site in own[1:] for one in asked_around(case, site) for name in _attributes(one)}
    inner = operation.stack[: operation.stack.index(own[0])]
    if any(site.file.replace("\\", "/").endswith(_LAYERS) for site in inner):
        found.add(_RATE)
    return found | attributes_behind(case, own[0], asked_around(case, own[0]))


def _attributes(node: ast.AST) -> Iterator[str]:
    return (one.attr for one in ast.walk(node) if isinstance(one, ast.Attribute))


def _is_set_elsewhere(case: Case, name: str, lines: list[Line]) -> bool:
    """Whether anything but the evaluation, or the building of an object, gives an attribute of this name a value."""
    known = {id(statement) for _, statement in lines if _set_to_nothing(statement) is not None}
    for file in syntax(case).files:
        for node in syntax(case).nodes(file):
            if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign) and id(node) not in known:
                within = syntax(case).parsed(file).functions.get(node.lineno)
                if name in _set_by(node) and getattr(within, "name", "") not in _BUILDS:
                    return True
            elif isinstance(node, ast.Call) and last_name(node.func) in _SETTERS:
                return True
    return False


def _set_by(node: ast.Assign | ast.AugAssign | ast.AnnAssign) -> set[str]:
    places = node.targets if isinstance(node, ast.Assign) else [node.target]
    return {one.attr for place in places for one in ast.walk(place) if isinstance(one, ast.Attribute)}
