"""GS857: a schedule that waits for a score to fall."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.syntax import syntax
from gradscope.functions.source import last_name
from gradscope.model.finding import Related
from gradscope.model.site import Site

_SCHEDULE, _MODE_PLACE = "ReduceLROnPlateau", 1
_SCORES = re.compile(
    r"(^|_)(v|val|valid|validation|test|eval|mean|best)?_?"
    r"(acc|accuracy|auc|auroc|f1|score|iou|miou|dice|psnr|ssim|bleu|rouge|r2|recall|precision|reward|top1)(_|s?$)",
    re.IGNORECASE,
)
_LOSSES = re.compile(r"loss|err", re.IGNORECASE)


def waits_for_a_score_to_fall(case: Case) -> Iterator[Cause]:
    """What it flags: ReduceLROnPlateau without mode="max" that is stepped with what is named like a score.

    Why: it lowers the learning rate when what it is given has not fallen for some epochs. An accuracy that rises never
    falls: the rate is lowered again and again while all goes well, and the model stops learning.

    Wrong:
        scheduler = ReduceLROnPlateau(optimizer, patience=3)
        for epoch in range(50):
            train(model)
            scheduler.step(accuracy(model))

    Right:
        scheduler = ReduceLROnPlateau(optimizer, mode="max", patience=3)

    Do instead: give it mode="max", or a loss.

    How it is found: the names in the program's text, and the rate was lowered in this run. A hint: a name may mislead.
    """
    lowered = _is_lowered(case)
    for file in syntax(case).files if lowered else ():
        for name, made, keeps_mode in list(_schedules(case, file)):
            given = list(_given(case, name)) if keeps_mode else []
            scores = [(words, site) for words, site in given if words is not None]
            if scores and len(scores) == len(given):
                words, site = scores[0]
                yield Cause(
                    f"this schedule lowers the learning rate unless what it is given falls, and it is given `{words}`",
                    made,
                    (Related("called_at", site, "step"),),
                    certain=False,
                )


def _is_lowered(case: Case) -> bool:
    last: dict[tuple[int, int], float] = {}
    for rate in case.learning_rates():
        if rate.count >= 0:
            if rate.value < last.get((rate.optimizer, rate.group), rate.value):
                return True
            last[rate.optimizer, rate.group] = rate.value
    return False


def _schedules(case: Case, file: str) -> Iterator[tuple[str, Site, bool]]:
    """Each schedule of a file: its name, the line that makes it, and whether it waits for what it is given to fall."""
    for node in syntax(case).nodes(file):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            call = node.value
            if last_name(call.func) == _SCHEDULE and len(node.targets) == 1:
                told = [one.value for one in call.keywords if one.arg in ("mode", None)] + call.args[
                    _MODE_PLACE : _MODE_PLACE + 1
                ]
                falls = all(isinstance(one, ast.Constant) and one.value == "min" for one in told)
                yield last_name(node.targets[0]), syntax(case).site(file, call.lineno), falls


def _given(case: Case, name: str) -> Iterator[tuple[str | None, Site]]:
    """What a schedule of this name is stepped with: the words, where they name a score, and the line."""
    for file in syntax(case).files:
        for node in syntax(case).nodes(file):
            stepped = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "step"
            if stepped and isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                given = [*node.args, *(one.value for one in node.keywords if one.arg == "metrics")]
                if last_name(node.func.value) == name and given:
                    words = ast.unparse(given[0])
                    yield words if _is_score(given[0]) else None, syntax(case).site(file, node.lineno)


def _is_score(given: ast.expr) -> bool:
    """Whether a value that is passed as it is has the name of a score: not 1 - accuracy, not -score."""
    if isinstance(given, ast.Call):
        if isinstance(given.func, ast.Attribute) and given.func.attr == "item":
            return _is_score(given.func.value)
        return _is_score(given.args[0]) if last_name(given.func) == "float" and given.args else _names(given.func)
    if isinstance(given, ast.Subscript) and isinstance(given.slice, ast.Constant):
        return isinstance(given.slice.value, str) and _is_named(given.slice.value)
    return _names(given)


def _names(given: ast.expr) -> bool:
    return isinstance(given, (ast.Name, ast.Attribute)) and _is_named(last_name(given))


def _is_named(name: str) -> bool:
    return _SCORES.search(name) is not None and not _LOSSES.search(name)
