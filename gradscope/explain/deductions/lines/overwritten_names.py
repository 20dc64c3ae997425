"""The line that gives a name to something else before anything has read what the name was given first.

The surprise: the branches of an `if` stand below one another, and none of them takes a name from the other.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.syntax import syntax
from gradscope.functions.source import names_in
from gradscope.model.site import Site, Stack, user_frames

_THROWN_AWAY = "_"
_BLOCKS = ("body", "orelse", "finalbody")


@dataclass(frozen=True, slots=True)
class Overwritten:
    """A name that a line keeps a result under, and the line that gives it to something else."""

    name: str
    kept: Site
    again: Site


def overwritten(case: Case, stack: Stack) -> Overwritten | None:
    """Where the name of a result, which nothing has read, is given to something else. Functions may return it first."""
    for site in user_frames(stack):
        statement, function = syntax(case).statement(site), syntax(case).function(site)
        if isinstance(statement, ast.Return) and not isinstance(statement.value, ast.Tuple):
            continue  # the line that called it gives it a name
        name = _only_name(statement)
        if statement is None or function is None or name is None or name == _THROWN_AWAY:
            return None
        again = _first_with(_behind(function, statement), name)
        if again is None or not _is_anew(again, name):
            return None
        return Overwritten(name, site, syntax(case).site(site.file, again.lineno))
    return None


def _only_name(statement: ast.stmt | None) -> str | None:
    """The one plain name that a statement gives what it computes."""
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    is_given = isinstance(statement, ast.Assign | ast.AugAssign | ast.AnnAssign)
    return targets[0].id if is_given and len(targets) == 1 and isinstance(targets[0], ast.Name) else None


def _behind(function: ast.AST, statement: ast.stmt) -> Iterator[ast.stmt]:
    """The statements that run behind another: those of its own block, then of the blocks around that."""
    blocks = [block for owner in ast.walk(function) for block in _blocks(owner)]
    for block in reversed(blocks):  # the innermost stand last
        around = [one for one in block if one.lineno <= statement.lineno <= (one.end_lineno or 0)]
        yield from (one for one in block if around and one.lineno > (around[0].end_lineno or 0))


def _blocks(owner: ast.AST) -> Iterator[list[ast.stmt]]:
    blocks = (getattr(owner, name, None) for name in _BLOCKS)
    return (block for block in blocks if isinstance(block, list))


def _first_with(statements: Iterable[ast.stmt], name: str) -> ast.stmt | None:
    """The first statement that names it: of a `with` or a `for`, whose head does not, the first one inside."""
    found = next((one for one in statements if name in names_in(one)), None)
    while isinstance(found, ast.With | ast.For):
        inner = next((one for one in found.body if name in names_in(one)), None)
        heads = found.items if isinstance(found, ast.With) else [found.target, found.iter]
        if inner is None or name in names_in(*heads):
            return found
        found = inner
    return found


def _is_anew(statement: ast.stmt, name: str) -> bool:
    """Whether a statement gives a name what is not computed from what it was."""
    return isinstance(statement, ast.Assign) and _only_name(statement) == name and name not in names_in(statement.value)
