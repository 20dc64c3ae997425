"""What a function freezes by eval() alone, while the optimizer is given what requires grad: all of it still does.

The surprise: "frozen batch normalisation" often means its averages only, and those eval() does keep. Only where the
optimizer's parameters are filtered, and nothing but this could have been frozen, does the program say that it meant
the weights.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import dataflow
from gradscope.explain.evidence.source_names import targets
from gradscope.explain.evidence.syntax import syntax
from gradscope.explain.evidence.timeline import Timeline, timelines
from gradscope.explain.evidence.words import several
from gradscope.functions.source import called_name
from gradscope.model.finding import Related, Severity
from gradscope.model.flow import GradientState
from gradscope.model.site import Site, user_frames
from gradscope.model.training import EVAL, FREEZE, LEARN, MADE, TRAIN, TrainingCall

_FLAG = "requires_grad"
_FREEZES = re.compile(r"(?<!un)(?<!un_)(freeze|frozen)", re.IGNORECASE)
_OF_AVERAGES = re.compile(r"stat|running|buffer|average|mean|moment|mode|eval|drop", re.IGNORECASE)
_KNOWS = re.compile(r"statistic|running|affine|averages", re.IGNORECASE)  # words of who knows what eval() keeps
_ADVICE = "freeze the weights as well: requires_grad_(False), before the optimizer is made"


def frozen_by_mode(case: Case) -> Iterator[Cause]:
    """Calls of eval() in a function that is named after freezing, where all weights go through a filter of what
    requires grad into an optimizer that steps them."""
    if any(_sets_the_flag(node) for file in syntax(case).files for node in syntax(case).nodes(file)):
        return
    for timeline in timelines(case):
        if not list(timeline.of(FREEZE, LEARN)):
            yield from _of_timeline(case, timeline)


def _of_timeline(case: Case, timeline: Timeline) -> Iterator[Cause]:
    rests = [(at, call) for at, call in timeline.of(EVAL) if _is_said_to_freeze(case, call)]
    woken = max((at for at, call in timeline.of(TRAIN) if call.count), default=-1)
    if not rests or woken > rests[-1][0]:
        return
    for at, made in timeline.of(MADE):
        before = [call for place, call in rests if place < at]
        filters = _filter_at(case, made) if before else None
        if filters is not None and _trained(case, timeline, at, made):
            yield _cause(before, made, filters)
            return


def _cause(rests: list[TrainingCall], made: TrainingCall, filters: Site) -> Cause:
    places = ((filters, "the filter, which leaves out none"), (made.site, "the optimizer"))
    names = tuple(dict.fromkeys(call.module or "the model" for call in rests))
    return Cause(
        f"eval() switches the mode of {several(names)} and freezes no weights: all still require grad and are trained; "
        "of batch normalisation it keeps the running statistics",
        rests[0].site,
        tuple(Related("used_at", site, what) for site, what in dict(places).items() if site is not None),
        certain=False,
        severity=Severity.INFO,
        module=rests[0].module,
        advice=_ADVICE,
    )


def _sets_the_flag(node: ast.AST) -> bool:
    """Whether requires_grad may be set here, other than to True of what is made: the filter may be there for that."""
    if isinstance(node, ast.Attribute):
        return node.attr == f"{_FLAG}_" or (node.attr == _FLAG and not isinstance(node.ctx, ast.Load))
    if isinstance(node, ast.Call) and called_name(node) in ("setattr", "getattr"):
        return any(isinstance(one, ast.Constant) and one.value in (_FLAG, f"{_FLAG}_") for one in node.args)
    if not isinstance(node, ast.keyword) or node.arg != _FLAG:
        return False
    return not (isinstance(node.value, ast.Constant) and node.value.value is True)


def _is_said_to_freeze(case: Case, call: TrainingCall) -> bool:
    """Whether the function around an eval() is named after freezing, and not of averages."""
    frames = user_frames(call.stack)
    function = syntax(case).function(frames[0]) if frames else None
    name = function.name if isinstance(function, ast.FunctionDef) else ""
    if not _FREEZES.search(name) or _OF_AVERAGES.search(name):
        return False
    return not any(_KNOWS.search(line) for line in syntax(case).parsed(frames[0].file).lines)


def _filter_at(case: Case, made: TrainingCall) -> Site | None:
    """The line that filters what an optimizer is given by requires_grad: where it is made, or where a name that it
    is given gets its value."""
    frames = user_frames(made.stack)
    at = frames[0] if frames else None
    statement = None if at is None else syntax(case).parsed(at.file).whole_statements.get(at.line)
    function = None if at is None else syntax(case).function(at)
    if at is None or statement is None or function is None:
        return None
    read = {one.id for one in ast.walk(statement) if isinstance(one, ast.Name)}
    before = [one for one in ast.walk(function) if isinstance(one, ast.Assign) and one.lineno < statement.lineno]
    given = [statement, *(one for one in before if targets(one) & read)]
    lines = (_line_of_filter(node) for one in given for node in ast.walk(one))
    line = next((one for one in lines if one is not None), None)
    return None if line is None else syntax(case).site(at.file, line, at.function)


def _line_of_filter(node: ast.AST) -> int | None:
    """The line of `[p for p in parameters if p.requires_grad]`, or of `filter(lambda p: p.requires_grad, ...)`."""
    asked: list[ast.expr] = []
    if isinstance(node, ast.ListComp | ast.GeneratorExp):
        asked = [condition for one in node.generators for condition in one.ifs]
    elif isinstance(node, ast.Call) and called_name(node) == "filter":
        asked = [one.body for one in node.args if isinstance(one, ast.Lambda)]
    is_it = any(isinstance(one, ast.Attribute) and one.attr == _FLAG for one in asked)
    return getattr(node, "lineno", None) if is_it else None


def _trained(case: Case, timeline: Timeline, at: int, made: TrainingCall) -> bool:
    """Whether an optimizer was seen to step all parameters that modules read since: nothing that is used is frozen, and
    no other model, as a teacher of the same class, can be meant."""
    looks = [look for look in case.optimizer_looks() if look.optimizer == made.optimizer]
    held = {one.tensor for look in looks[-1:] for one in look.parameters if one.state is GradientState.VALUES}
    flow, before = dataflow(case), timeline.before(at)
    done = before.backward.number if before is not None and before.backward is not None else -1
    read = {
        one.tensor
        for operation in flow.operations
        if operation.backward is None
        and operation.operation.module is not None
        and operation.run // 2
        > done + 1  # blocks before, and in, a backward take turns; the first may hold what is old
        for one in operation.reads
        if one.tensor in flow.tensors and flow.tensors[one.tensor].parameter
    }
    return bool(read) and read <= held
