"""The line that decided which way a function went: the branch around a line, or the random number it rests on.

Python's and numpy's random numbers are what a recomputation does not repeat; torch's own are restored for it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.source_names import followed, targets
from gradscope.explain.evidence.syntax import syntax
from gradscope.functions.source import last_name, names_in
from gradscope.model.site import Origin, Site, Stack

_MODULES = ("random", "np.random", "numpy.random")
_GENERATORS = ("default_rng", "RandomState", "Random")
_LEAVES = (ast.Return, ast.Raise, ast.Break, ast.Continue)
Branch = tuple[ast.expr, list[ast.stmt]]  # what it asks, and the side that a line is on


def branching_line(case: Case, took: Stack, other: Stack) -> Site | None:
    """Where a run that came to one stack and a run that came to another went apart; None when no branch is around.

    A branch that asks a random number is decided where that number is drawn, one that asks a counter of an object
    where the function counts on.
    """
    elsewhere = _outermost_first(other)
    for depth, site in enumerate(_outermost_first(took)):
        there = elsewhere[depth] if depth < len(elsewhere) else None
        asked = _asked(case, site, there if site.is_in_function_of(there) else None)
        if asked:
            drawn = filter(None, (_drawn_for(case, site, one) for one in asked))
            counted = filter(None, (_counted_for(case, site, one) for one in asked))
            return next(drawn, None) or next(counted, None) or _at(case, site, asked[0])
        if there is None or not site.is_in_function_of(there):
            return None
    return None


def asked_around(case: Case, site: Site) -> list[ast.expr]:
    """What the branches of its function ask that a line is behind, the innermost first."""
    return _asked(case, site, None)


def random_line(case: Case, site: Site) -> Site | None:
    """The first line of the function around a line that draws one of Python's or numpy's random numbers."""
    drawing, (_, statements) = _drawing(case, site), _function(case, site)
    drawn = (one for one in statements if not hasattr(one, "body") and drawing.is_in(one))
    return _at(case, site, next(drawn, None))


def _drawn_for(case: Case, site: Site, asked: ast.expr) -> Site | None:
    """The line of that function that draws the random number which a branch asks for."""
    drawing, (function, statements) = _drawing(case, site), _function(case, site)
    if drawing.is_in(asked):
        return _at(case, site, asked)
    names = names_in(asked)
    named = (one for one in statements if isinstance(one, (ast.Assign, ast.AnnAssign)) and drawing.is_in(one))
    for one in named:
        if not names.isdisjoint(followed(function, targets(one))):
            return _at(case, site, one)
    return None


def _counted_for(case: Case, site: Site, asked: ast.expr) -> Site | None:
    """The line of that function that counts on what a branch asks for, `self.calls += 1`: it does so again."""
    _, statements = _function(case, site)
    names = names_in(asked)
    given = [one for one in statements if isinstance(one, ast.Assign) and not names.isdisjoint(targets(one))]
    read = {place for one in (asked, *(one.value for one in given)) for place in _attributes(one)}
    counting = (one for one in statements if isinstance(one, ast.AugAssign) and isinstance(one.target, ast.Attribute))
    return _at(case, site, next((one for one in counting if ast.unparse(one.target) in read), None))


def _attributes(node: ast.expr) -> Iterator[str]:
    """The attributes that an expression reads, as they are written."""
    return (ast.unparse(one) for one in ast.walk(node) if isinstance(one, ast.Attribute))


def _function(case: Case, site: Site) -> tuple[ast.AST, list[ast.stmt]]:
    """The function around a line, or its file, and the statements in it, from the first line on."""
    function = syntax(case).function(site) or ast.Module([], [])
    inside = (one for one in ast.walk(function) if isinstance(one, ast.stmt))
    return function, sorted(inside, key=lambda one: one.lineno)


def _at(case: Case, site: Site, node: ast.stmt | ast.expr | None) -> Site | None:
    return None if node is None else syntax(case).site(site.file, node.lineno, site.function)


class _Drawing:
    """What draws random numbers in one file: functions and generators by the names that they have there."""

    def __init__(self, functions: set[str], generators: set[str]) -> None:
        self._functions, self._generators = functions, generators

    def is_in(self, node: ast.AST) -> bool:
        """Whether an expression or statement draws one."""
        return any(isinstance(one, ast.Call) and self._draws(one.func) for one in ast.walk(node))

    def _draws(self, function: ast.expr) -> bool:
        if isinstance(function, ast.Name):
            return function.id in self._functions
        if not isinstance(function, ast.Attribute) or function.attr in (*_GENERATORS, "seed"):
            return False
        return ast.unparse(function.value) in _MODULES or last_name(function.value) in self._generators


def _drawing(case: Case, site: Site) -> _Drawing:
    functions: set[str] = set()
    generators: set[str] = set()
    for node in syntax(case).nodes(site.file):
        if isinstance(node, ast.ImportFrom) and node.module in ("random", "numpy.random"):
            functions |= {one.asname or one.name for one in node.names if one.name not in _GENERATORS}
        elif isinstance(node, ast.Import):
            generators |= {one.asname for one in node.names if one.name in _MODULES and one.asname}
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and _makes_generator(node.value):
            generators |= {last_name(target) for target in node.targets}
    return _Drawing(functions, generators)


def _makes_generator(call: ast.Call) -> bool:
    return last_name(call.func) in _GENERATORS


def _outermost_first(stack: Stack) -> list[Site]:
    return [site for site in reversed(stack) if site.origin is Origin.USER]


def _asked(case: Case, site: Site, other: Site | None) -> list[ast.expr]:
    """What the branches ask that a line is behind and the other run was not, the innermost first."""
    behind = [one for one in _branches(case, site) if _is_among(one[1], site.line)]
    return [asked for asked, side in reversed(behind) if other is None or not _is_among(side, other.line)]


def _branches(case: Case, site: Site) -> Iterator[Branch]:
    """The branches of its function, the outermost first; what follows an `if` that leaves is a side of it, too."""
    function = syntax(case).parsed(site.file).functions.get(site.line)
    for node in ast.walk(function) if function is not None else ():
        if isinstance(node, (ast.If, ast.While, ast.For)):
            asked = node.iter if isinstance(node, ast.For) else node.test
            yield from ((asked, side) for side in (node.body, node.orelse))
        for block in _blocks(node):
            for at, one in enumerate(block):
                if isinstance(one, ast.If) and isinstance(one.body[-1], _LEAVES):
                    yield one.test, block[at + 1 :]


def _blocks(node: ast.AST) -> Iterator[list[ast.stmt]]:
    """The lists of statements in a statement."""
    fields = (getattr(node, name, None) for name in ("body", "orelse", "finalbody"))
    return (field for field in fields if isinstance(field, list))


def _is_among(statements: list[ast.stmt], line: int) -> bool:
    return any(one.lineno <= line <= (one.end_lineno or one.lineno) for one in statements)
