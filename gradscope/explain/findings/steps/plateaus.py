"""GS857: a schedule that waits for a score to fall, or for a loss to rise."""

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
_MIN, _MAX = "min", "max"
_WAITS = {_MIN: "falls", _MAX: "rises"}
_SCORES = re.compile(
    r"(^|_)(v|val|valid|validation|test|eval|mean|best)?_?"
    r"(acc|accuracy|auc|auroc|f1|score|iou|miou|dice|psnr|ssim|bleu|rouge|r2|recall|precision|reward|top1)(_|s?$)",
    re.IGNORECASE,
)
_LOSSES = re.compile(r"loss|err", re.IGNORECASE)
_FALLING = re.compile(r"(^|_)(loss|losses|error|errors|mse|rmse|mae|nll|perplexity|ppl)(_|$)", re.IGNORECASE)
_TURNED = re.compile(r"neg|minus|inv|reward|gain|improve|drop|delta", re.IGNORECASE)


def waits_for_a_score_to_fall(case: Case) -> Iterator[Cause]:
    """What it flags: ReduceLROnPlateau without mode="max" that is stepped with what is named like a score, or with
    mode="max" and with what is named like a loss.

    Why: it lowers the learning rate when what it is given has not fallen for some epochs. An accuracy that rises never
    falls: the rate is lowered again and again while all goes well, and the model stops learning. So it is with a loss
    that falls where the schedule waits for it to rise.

    Wrong:
        scheduler = ReduceLROnPlateau(optimizer, patience=3)
        for epoch in range(50):
            train(model)
            scheduler.step(accuracy(model))

    Right:
        scheduler = ReduceLROnPlateau(optimizer, mode="max", patience=3)

    Do instead: mode="max" for a score, mode="min" for a loss.

    How it is found: the names in the program's text, and the rate was lowered in this run. A hint: a name may mislead.
    With mode="max", the losses have fallen, and the program turns no loss around to raise it.
    """
    lowered = _is_lowered(case)
    for file in syntax(case).files if lowered else ():
        for name, made, mode in list(_schedules(case, file)):
            given = list(_given(case, name)) if mode else []
            wrong = _is_score if mode == _MIN else _is_loss
            if given and all(wrong(one) for one, _ in given) and (mode == _MIN or _goes_down(case, file)):
                value, site = given[0]
                yield Cause(
                    f"this schedule lowers the learning rate unless what it is given {_WAITS[mode]}, and it is given "
                    f"`{ast.unparse(value)}`",
                    made,
                    (Related("called_at", site, "step"),),
                    certain=False,
                    advice="" if mode == _MIN else 'give it mode="min", or a score',
                )


def _is_lowered(case: Case) -> bool:
    last: dict[tuple[int, int], float] = {}
    for rate in case.learning_rates():
        if rate.count >= 0:
            if rate.value < last.get((rate.optimizer, rate.group), rate.value):
                return True
            last[rate.optimizer, rate.group] = rate.value
    return False


def _goes_down(case: Case, file: str) -> bool:
    """Whether the losses of the run have fallen, and nothing that is named like one is turned around to be raised."""
    losses = list(case.losses().values())
    most = len(losses) // 2
    if not most or not sum(losses[-most:]) < sum(losses[:most]):
        return False
    for node in syntax(case).nodes(file):
        turned = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and _is_loss(node.operand)
        if turned or (isinstance(node, ast.keyword) and node.arg == "maximize"):
            return False
    return True


def _schedules(case: Case, file: str) -> Iterator[tuple[str, Site, str]]:
    """Each schedule of a file: its name, the line that makes it, and its mode; none where that is not known."""
    for node in syntax(case).nodes(file):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            call = node.value
            if last_name(call.func) == _SCHEDULE and len(node.targets) == 1:
                told = [one.value for one in call.keywords if one.arg in ("mode", None)] + call.args[
                    _MODE_PLACE : _MODE_PLACE + 1
                ]
                modes = {one.value if isinstance(one, ast.Constant) else None for one in told} or {_MIN}
                mode = next((one for one in _WAITS if modes == {one}), "")
                yield last_name(node.targets[0]), syntax(case).site(file, call.lineno), mode


def _given(case: Case, name: str) -> Iterator[tuple[ast.expr, Site]]:
    """What a schedule of this name is stepped with, and the line."""
    for file in syntax(case).files:
        for node in syntax(case).nodes(file):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "step":
                given = [*node.args, *(one.value for one in node.keywords if one.arg == "metrics")]
                if last_name(node.func.value) == name and given:
                    yield given[0], syntax(case).site(file, node.lineno)


def _is_score(given: ast.expr) -> bool:
    return any(_SCORES.search(name) is not None and not _LOSSES.search(name) for name in _names(given))


def _is_loss(given: ast.expr) -> bool:
    return any(_FALLING.search(name) is not None and not _TURNED.search(name) for name in _names(given))


def _names(given: ast.expr) -> Iterator[str]:
    """The name of a value that is passed as it is: not of 1 - accuracy, not of -score."""
    if isinstance(given, ast.Call):
        if isinstance(given.func, ast.Attribute) and given.func.attr == "item":
            yield from _names(given.func.value)
        elif last_name(given.func) == "float" and given.args:
            yield from _names(given.args[0])
        else:
            yield from _names(given.func)
    elif isinstance(given, ast.Subscript) and isinstance(given.slice, ast.Constant):
        if isinstance(given.slice.value, str):
            yield given.slice.value
    elif isinstance(given, (ast.Name, ast.Attribute)):
        yield last_name(given)
