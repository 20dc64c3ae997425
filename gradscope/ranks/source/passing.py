"""Which of two ranks went into a branch that the other passed by, told by the frames under which they then were."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from gradscope.functions.source import called_name
from gradscope.model.site import Origin, Site, Stack
from gradscope.ranks.source.syntax import Function, Loop, at_line, function_around, statements, tree_of
from gradscope.store.reader import Recording

_FOR_ALL = frozenset(("is_available", "is_initialized", "get_world_size"))
_OF_A_RANK = re.compile(r"rank|main|master|primary|chief|leader", re.IGNORECASE)  # names that tell one from others


@dataclass(frozen=True, slots=True)
class Branch:
    """The line of a condition, and the one under it at which a rank was; `leaves`: or below it, where a function is
    left under it; `parts`: another rank was in the other arm of it."""

    condition: Site
    inside: Site
    leaves: bool = False
    parts: bool = False

    @property
    def is_of_a_rank(self) -> bool:
        """Whether the condition asks which rank it is, as far as its names tell."""
        return _OF_A_RANK.search(self.condition.source or "") is not None


def passed_by(recording: Recording, stack: Stack, other: Stack, before: Stack | None = ()) -> Branch | None:
    """The branch in which a rank was, when another one was below that branch in the same call of a function, or in the
    next trip of a loop around it, if both were `before` in one trip; else one condition in what is called there. Before
    the first meeting `before` is None."""
    parted = parting(stack, other)
    if parted is None:
        return None
    ours, start = parted[0], _start(stack, parted, before)
    lines = list(_conditions(recording, *parted))
    if lines:
        passed = [Branch(at_line(recording, ours, line), ours) for line in lines]
        return _of_a_rank(passed) or passed[-1]
    arms = [] if start is None or start.line >= min(ours.line, parted[1].line) else _arms(recording, *parted)
    if arms:
        return arms[-1]
    loop = None if start is None else _gone_round(recording, parted, start)
    if loop is None and (start is None or not start.line < ours.line < parted[1].line):
        return _decorated(recording, stack, other)
    around = [] if loop is None else [Branch(at_line(recording, ours, line), ours) for line in _around(loop, ours.line)]
    inside = _in_what_is_called(recording, stack, ours)
    return (
        _of_a_rank(around)
        or _decorated(recording, stack, other)
        or _of_a_rank(inside)
        or (around[-1] if around else inside[0] if len(inside) == 1 else None)
    )


def gone_into(recording: Recording, stack: Stack, before: Stack) -> Branch | None:
    """The branch of a rank's own in which a rank is, and that stands below where it was before, in the same function or
    in one that is called below that; None where there is none, or where it came round to a line above."""
    parted = parting(stack, before)
    if parted is None or parted[0].line <= parted[1].line:
        return None
    ours, then = parted
    nodes = (node for node in statements(recording, ours) if isinstance(node, ast.If))
    lines = [one.lineno for one in nodes if then.line < one.lineno < ours.line <= (one.end_lineno or 0)]
    around = [Branch(at_line(recording, ours, line), ours) for line in lines]
    return _of_a_rank(around + _in_what_is_called(recording, stack, ours)) or _decorated(recording, stack, before)


def _of_a_rank(branches: list[Branch]) -> Branch | None:
    return next((one for one in branches if one.is_of_a_rank), None)


def _start(stack: Stack, parted: tuple[Site, Site], before: Stack | None) -> Site | None:
    """Where a rank was `before`, in the call of a function in which it is; where it came to that later, its head."""
    ours, now, then = parted[0], list(_outside_in(stack)), list(_outside_in(before or ()))
    depth = now.index(ours)
    if before is None or (then and [*map(str, now[:depth])] != [*map(str, then[:depth])]):
        return replace(ours, line=0)
    if len(then) <= depth:
        return None
    is_in_it = (then[depth].file, then[depth].function) == (ours.file, ours.function)
    came_back = is_in_it and max(one.line for one in parted) < then[depth].line  # in another call, or another trip
    return then[depth] if is_in_it and not came_back else replace(ours, line=0)


def _arms(recording: Recording, ours: Site, theirs: Site) -> list[Branch]:
    """The conditions of which two ranks are in an arm each, and that do not ask which rank it is, from outside in."""
    found: list[Branch] = []
    for node in statements(recording, ours):
        arms = (node.body, node.orelse) if isinstance(node, ast.If) and node.orelse else ()
        lines = [(arm[0].lineno, arm[-1].end_lineno or 0) for arm in arms]
        held = [[first <= site.line <= last for first, last in lines] for site in (ours, theirs)]
        if sorted(held) == [[False, True], [True, False]]:
            found.append(Branch(at_line(recording, ours, node.lineno), ours, parts=True))
    return [one for one in found if not one.is_of_a_rank]


def _gone_round(recording: Recording, parted: tuple[Site, Site], start: Site) -> Loop | None:
    """The loop in which one rank went on from a place, and another came round to that, or to a line above it."""
    ours, theirs = parted
    if not theirs.line <= start.line < ours.line:
        return None
    lines = (ours.line, theirs.line, start.line)
    loops = [node for node in statements(recording, ours) if isinstance(node, Loop)]
    around = [node for node in loops if all(node.lineno <= line <= (node.end_lineno or 0) for line in lines)]
    return around[-1] if around else None


def _around(node: ast.AST, line: int) -> list[int]:
    """The lines of the conditions around a line, from outside in."""
    found = [one for one in ast.walk(node) if isinstance(one, ast.If) and not _is_for_all(one.test)]
    return [one.lineno for one in found if one.lineno < line <= (one.end_lineno or 0)]


def _in_what_is_called(recording: Recording, stack: Stack, ours: Site) -> list[Branch]:
    """The conditions by which a rank came to its line, in the functions that another line calls."""
    found: list[Branch] = []
    inner = list(_outside_in(stack))
    for site in inner[inner.index(ours) + 1 :]:
        function = function_around(tree_of(recording, site), site.line)
        around = [] if function is None else _around(function, site.line)
        out = [] if function is None else _ways_out(function, site.line)
        found += [Branch(at_line(recording, site, line), site) for line in around]
        found += [Branch(at_line(recording, site, line), site, leaves=True) for line in out]
    return found


def _ways_out(function: Function, line: int) -> list[int]:
    """The lines of the conditions under which a function returns above a line."""
    ends = ast.Return, ast.Continue, ast.Break
    found = [node for node in ast.walk(function) if isinstance(node, ast.If) and (node.end_lineno or 0) < line]
    return [node.lineno for node in found if isinstance(node.body[-1], ends) and not _is_for_all(node.test)]


def _is_for_all(test: ast.expr) -> bool:
    """Whether a condition asks nothing but whether there are other ranks, which all of them know alike."""
    if isinstance(test, ast.BoolOp):
        return all(map(_is_for_all, test.values))
    if isinstance(test, ast.UnaryOp):
        return _is_for_all(test.operand)
    if isinstance(test, ast.Compare):
        return _is_for_all(test.left) and all(isinstance(one, ast.Constant) for one in test.comparators)
    return isinstance(test, ast.Call) and called_name(test) in _FOR_ALL


def _decorated(recording: Recording, stack: Stack, other: Stack) -> Branch | None:
    """The decorator that lets one rank alone into a function in which the other is not."""
    beside = {(site.file, site.function) for site in other}
    for site in (one for one in _outside_in(stack) if (one.file, one.function) not in beside):
        function = function_around(tree_of(recording, site), site.line)
        for decorator in function.decorator_list if function is not None else ():
            if _OF_A_RANK.search(ast.unparse(decorator)):
                line = at_line(recording, site, decorator.lineno)
                return Branch(line, line)
    return None


def parting(stack: Stack, other: Stack) -> tuple[Site, Site] | None:
    """The first frames from outside in of the user's own that are not at the same line, in one function."""
    pairs = zip(_outside_in(stack), _outside_in(other), strict=False)
    one, two = next(((one, two) for one, two in pairs if str(one) != str(two)), (None, None))
    if one is None or two is None or not one.is_in_function_of(two):
        return None
    return one, two


def _outside_in(stack: Stack) -> Iterator[Site]:
    return (site for site in reversed(stack) if site.origin is Origin.USER)


def _conditions(recording: Recording, ours: Site, theirs: Site) -> Iterator[int]:
    """The lines of those around one line and above another one, from outside in."""
    for node in statements(recording, ours):
        if isinstance(node, ast.If) and node.lineno < ours.line <= (node.end_lineno or 0) < theirs.line:
            yield node.lineno
