"""Whether all epochs of a loop, each of which makes an optimizer anew, do one and the same by what the source says.

The surprise: what tells one task from another may be a plain Python value, which no tensor shows. So all that a round
gives a name, and calls, is looked at, and what is not known to be harmless is taken for another task.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.syntax import syntax
from gradscope.explain.evidence.timeline import timelines
from gradscope.functions.source import called_name
from gradscope.model.site import Site, Stack, user_frames
from gradscope.model.training import STEP

_EPOCH = "ep"  # how the name of a loop's count begins that counts epochs
_HARMLESS = {"print", "append", "train", "eval", "item", "len", "round", "float", "int", "max", "min", "mean", "sum"}
_LOOKS = ("eval", "valid", "test", "acc", "log", "save")  # how the names of functions begin that change nothing
_MEANT = re.compile(r"\b(re-?start|re-?set|afresh|fresh|anew|forget|cold)\w*", re.IGNORECASE)
_SEVERAL = 2  # epochs of a stage, at least


def are_epochs_alike(case: Case, optimizer: int, own: Stack) -> bool:
    """Whether a loop over epochs is around the making of an optimizer at the top of a stack, whose rounds are alike.

    A stage that lasts for several epochs, `epoch // 4`, may tell the rounds apart.
    """
    place = next((at for at, frame in enumerate(own) if syntax(case).loop(frame) is not None), None)
    loop = None if place is None else syntax(case).loop(own[place])
    if (
        place is None
        or not isinstance(loop, ast.For)
        or not _counts_epochs(loop)
        or _is_meant(case, own[: place + 1], loop)
    ):
        return False
    making, levels = syntax(case).statement(own[0]), list(_levels(case, optimizer, own[place], loop))
    if not levels or making is None or not any(making in row for row, _ in levels):
        return False
    row, work = levels[0]
    aside = [one for one in row if one not in (making, work)]
    stages = {name for one in aside if (name := _stage(case, own[place:], loop, one))}
    told = {name for one in (loop.target, *aside) for name in _given(one)} - stages
    inner = [one for row, work in levels[1:] for one in row if one not in (making, work)]
    beside = [one for one in aside if not _given(one) & stages]
    return not told & _read(work) and all(map(_is_harmless, [*beside, *inner]))


def _counts_epochs(loop: ast.For) -> bool:
    return isinstance(loop.target, ast.Name) and loop.target.id.lower().startswith(_EPOCH)


def _is_meant(case: Case, own: Stack, loop: ast.For) -> bool:
    """Whether the name of a function says that the state is to go, or a comment at the making or the loop, or above."""
    places = [(own[0].file, own[0].line), (own[-1].file, loop.lineno)]
    lines = [syntax(case).line(file, line + by) or "" for file, line in places for by in (-1, 0)]
    told = [line.partition("#")[2] for line in lines] + [frame.function.replace("_", " ") for frame in own]
    return any(_MEANT.search(one) for one in told)


def _levels(case: Case, optimizer: int, head: Site, loop: ast.For) -> Iterator[tuple[list[ast.stmt], ast.stmt]]:
    """The rows of statements from a round down to the loop over batches, each with the one that leads to the step."""
    frames = _step(case, optimizer)
    at = next((at for at, one in enumerate(frames) if (one.file, one.function) == (head.file, head.function)), None)
    found, row = list[tuple[list[ast.stmt], ast.stmt]](), loop.body
    for frame in reversed(frames[: at + 1] if at is not None else ()):
        if found:
            function = syntax(case).function(frame)
            row = function.body if isinstance(function, ast.FunctionDef) else []
        work = next((one for one in row if one.lineno <= frame.line <= (one.end_lineno or 0)), None)
        if work is None:
            return
        found.append((row, work))
        if isinstance(work, ast.For | ast.While):
            yield from found
            return


def _step(case: Case, optimizer: int) -> Stack:
    calls = (call for timeline in timelines(case) for _, call in timeline.of(STEP) if call.optimizer == optimizer)
    return next((user_frames(call.stack) for call in calls), ())


def _stage(case: Case, own: Stack, loop: ast.For, one: ast.stmt) -> str | None:
    """The name that a statement gives a stage of several epochs: `stage = epoch // 4`."""
    value = one.value if isinstance(one, ast.Assign) else None
    if not isinstance(one, ast.Assign) or not isinstance(value, ast.BinOp) or not isinstance(value.op, ast.FloorDiv):
        return None
    to, is_count = one.targets[0], ast.unparse(value.left) == ast.unparse(loop.target)
    lasts = _number(case, own, value.right)
    return to.id if isinstance(to, ast.Name) and is_count and lasts is not None and lasts >= _SEVERAL else None


def _number(case: Case, own: Stack, value: ast.expr) -> int | None:
    """A whole number, or a name of one: of the module, or the default of an argument that no call names."""
    if isinstance(value, ast.Name):
        function = syntax(case).function(own[0])
        nodes = syntax(case).nodes(own[0].file)
        given = [one.value for one in nodes if isinstance(one, ast.Assign) and value.id in _given(one)]
        named = [one.value for one in nodes if isinstance(one, ast.keyword) and one.arg == value.id]
        plain = function.args if isinstance(function, ast.FunctionDef) else None
        defaults = _defaults(plain) if plain is not None else {}
        if value.id in defaults:
            called = [one for one in nodes if isinstance(one, ast.Call) and called_name(one) == own[0].function]
            given += [defaults[value.id], *named, *(one for one in called if one.args)]
        return _number(case, own, given[0]) if len(given) == 1 and isinstance(given[0], ast.Constant) else None
    number = value.value if isinstance(value, ast.Constant) else None
    return number if isinstance(number, int) else None


def _defaults(arguments: ast.arguments) -> dict[str, ast.expr]:
    plain = arguments.args[len(arguments.args) - len(arguments.defaults) :]
    return {one.arg: value for one, value in zip(plain, arguments.defaults, strict=True)}


def _given(node: ast.AST) -> set[str]:
    """The names to which something gives a value."""
    names = (one for one in ast.walk(node) if isinstance(one, ast.Name))
    return {one.id for one in names if isinstance(one.ctx, ast.Store)}


def _read(work: ast.stmt) -> set[str]:
    """The names that a statement reads, but for what is only printed."""
    waiting: Sequence[ast.AST] = [work]
    found = set[str]()
    while waiting:
        shown = [isinstance(one, ast.Call) and called_name(one) == "print" for one in waiting]
        kept = [one for one, is_shown in zip(waiting, shown, strict=True) if not is_shown]
        found |= {one.id for one in kept if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load)}
        waiting = [inner for one in kept for inner in ast.iter_child_nodes(one)]
    return found


def _is_harmless(statement: ast.stmt) -> bool:
    """Whether a statement shows, evaluates or begins a count, and chooses or draws nothing."""
    calls = [called_name(one) for one in ast.walk(statement) if isinstance(one, ast.Call)]
    known = all(one in _HARMLESS or one.lower().startswith(_LOOKS) for one in calls)
    plain = isinstance(statement, ast.Expr | ast.Return | ast.If | ast.Assign | ast.AugAssign | ast.AnnAssign)
    to = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    keeps = any(isinstance(one, ast.Attribute | ast.Subscript) for one in to)
    return known and plain and not keeps
