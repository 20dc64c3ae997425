"""A loop that one rank left while another went on in it, and the line that decides when it is left."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from gradscope.model.site import Origin, Site, Stack
from gradscope.ranks.source.rounds import begins_anew
from gradscope.ranks.source.stoppers import handed_to
from gradscope.ranks.source.syntax import Loop, at_line, of_loop, statements
from gradscope.store.reader import Recording


@dataclass(frozen=True, slots=True)
class Left:
    """A loop, and the line that decides when it is left: its own, where that is not known."""

    loop: Site
    decides: Site


@dataclass(frozen=True, slots=True)
class _Test:
    """A condition that ends a loop where it is `ends`, and where it stands."""

    test: ast.expr
    ends: bool
    line: int


def left_loop(recording: Recording, before: Stack, now: Stack, gone: Stack, between: set[Stack]) -> Left | None:
    """The innermost loop in which a rank was `before` and still is `now`, by what it ran `between`, which another rank,
    that was there before as well, has `gone` out of. The recording is that of the first; None where there is none."""
    ways = [list(_outside_in(stack)) for stack in (before, now, gone)]
    for depth in range(min(map(len, ways[:2])) - 1, -1, -1):
        one, other = ways[0][depth], ways[1][depth]
        if ways[0][:depth] != ways[1][:depth] or not one.is_in_function_of(other):
            continue
        loops = [node for node in _loops(recording, one) if _holds(node, one.line) and _holds(node, other.line)]
        for loop in reversed(loops):
            gone_on = not _is_in(loop, depth, ways[1], ways[2])
            if gone_on and not begins_anew(recording, loop, ways[1][: depth + 1], between):
                site = at_line(recording, one, loop.lineno)
                return Left(site, _deciding(recording, loop, site))
    return None


def left_for_good(recording: Recording, gone: Stack, inside: Stack) -> Left | None:
    """The loop that a rank has `gone` past for good, to a line below it or below what called it, and in which another
    one is still `inside`: the one with a line that may end it early; else the one that no number bounds. None where
    that does not tell which one it is."""
    ways = [list(_outside_in(stack)) for stack in (gone, inside)]
    pairs = enumerate(zip(*ways, strict=False))
    depth = next((at for at, (one, other) in pairs if str(one) != str(other)), None)
    if depth is None or not ways[0][depth].is_in_function_of(ways[1][depth]):
        return None
    past = ways[0][depth]
    known: list[tuple[Left, bool]] = []
    for at, site in enumerate(ways[1][depth:]):
        for loop in (one for one in _loops(recording, site) if _holds(one, site.line)):
            if at or (loop.end_lineno or 0) < past.line:
                head = at_line(recording, site, loop.lineno)
                bounded = isinstance(loop, ast.For) and _is_counted(loop.iter)
                known.append((Left(head, _deciding(recording, loop, head)), bounded))
    if not known or past.line < ways[1][depth].line:
        return None
    early = [one for one, _ in known if one.decides != one.loop]
    found = early or [one for one, bounded in known if not bounded]
    return found[0] if len(found) == 1 else None


def same_way(one: Stack, other: Stack) -> bool:
    """Whether two stacks have the same lines of the user's."""
    return [*map(str, _outside_in(one))] == [*map(str, _outside_in(other))]  # one that was killed may lack the texts


def _outside_in(stack: Stack) -> Iterator[Site]:
    return (site for site in reversed(stack) if site.origin is Origin.USER)


def _loops(recording: Recording, site: Site) -> list[Loop]:
    """All loops of a file, from outside in."""
    return [node for node in statements(recording, site) if isinstance(node, Loop)]


def _holds(node: ast.stmt, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or 0)


def _is_in(loop: Loop, depth: int, way: list[Site], other: list[Site]) -> bool:
    """Whether another rank is in a loop in which one is: under the same callers, at one of its lines."""
    if len(other) <= depth or [*map(str, way[:depth])] != [*map(str, other[:depth])]:
        return False
    here, there = way[depth], other[depth]
    return here.is_in_function_of(there) and _holds(loop, there.line)


def _deciding(recording: Recording, loop: Loop, site: Site) -> Site:
    """The one line that may end a loop early: that sets the flag which it asks for, hands a measure to what does, or
    asks; else the loop's own."""
    found = {(one.file, one.line): one for test in _tests(loop) for one in _of_test(recording, loop, site, test)}
    if len(found) != 1:
        return site
    decides = next(iter(found.values()))
    return handed_to(recording, decides, loop, site) or decides


def _tests(loop: Loop) -> Iterator[_Test]:
    """The conditions under which a loop ends before what it goes through does; none where that may be uneven too."""
    if isinstance(loop, ast.While):
        yield _Test(loop.test, False, loop.lineno)
    elif not _is_counted(loop.iter):
        return
    for node in of_loop(loop):
        if isinstance(node, ast.If) and any(isinstance(one, (ast.Break, ast.Return)) for one in node.body):
            yield _Test(node.test, True, node.lineno)


def _is_counted(value: ast.expr) -> bool:
    """Whether a loop is over numbers that no data have a part in, as far as its line tells."""
    named = isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "range"
    return named and not any(isinstance(one, ast.Call) for one in ast.walk(value) if one is not value)


def _of_test(recording: Recording, loop: Loop, site: Site, test: _Test) -> Iterator[Site]:
    """Where the flags of a condition are set; else the condition, but for one that is always true, or counts."""
    flags = list(_flags(test.test, test.ends))
    if flags:
        for name, ends in flags:
            yield from _sets(recording, site, name, ends)
    asks = any(isinstance(one, ast.Call) for one in ast.walk(test.test))  # for a length, say, that is a rank's own
    if asks or not (flags or isinstance(test.test, ast.Constant)):
        yield at_line(recording, site, test.line)


def _flags(test: ast.expr, ends: bool) -> Iterator[tuple[ast.Name | ast.Attribute, bool]]:
    """The names in a condition that are true or false by themselves, and at which of the two it ends the loop."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        yield from _flags(test.operand, not ends)
    elif isinstance(test, ast.BoolOp):
        for one in test.values:
            yield from _flags(one, ends)
    elif isinstance(test, (ast.Name, ast.Attribute)):
        yield test, ends


def _sets(recording: Recording, site: Site, name: ast.Name | ast.Attribute, ends: bool) -> Iterator[Site]:
    """The lines that give a flag another value than that at which a loop goes on; a variable's in its function."""
    files = [site.file] if isinstance(name, ast.Name) else sorted(recording.sources())
    for file in files:
        place = Site(file, site.line)
        for node in _around(recording, place) if isinstance(name, ast.Name) else statements(recording, place):
            if not isinstance(node, ast.Assign) or not any(_is_called(one, name) for one in node.targets):
                continue
            stays = isinstance(node.value, ast.Constant) and bool(node.value.value) is not ends
            if not stays:
                yield at_line(recording, place, node.lineno)


def _around(recording: Recording, site: Site) -> list[ast.stmt]:
    """The statements of the innermost function around a line, else of its file."""
    found = statements(recording, site)
    functions = [node for node in found if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    inside = [node for node in functions if _holds(node, site.line)]
    return [node for node in ast.walk(inside[-1]) if isinstance(node, ast.stmt)] if inside else found


def _is_called(target: ast.expr, name: ast.Name | ast.Attribute) -> bool:
    if isinstance(name, ast.Name):
        return isinstance(target, ast.Name) and target.id == name.id
    return isinstance(target, ast.Attribute) and target.attr == name.attr
