"""What a round of a loop reads of the round before: a name that may be read before it is set.

The surprise: a name that is set at the top of a round, under an `if`, may carry its value all the same.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from enum import Enum, auto

_Blocks = tuple[list[ast.stmt], ...]


class _Use(Enum):
    READ = auto()
    SET = auto()


def is_carried_by(loop: ast.For | ast.While, name: str) -> bool:
    """Whether a round may read a variable before it sets it: the variable takes its value into the next round."""
    if isinstance(loop, ast.While) and _used(loop.test, name) is _Use.READ:
        return True
    is_counter = isinstance(loop, ast.For) and _used(loop.target, name) is _Use.SET
    return not is_counter and _first_use(loop.body, name) is _Use.READ


def reads_of_before(loop: ast.For | ast.While, name: str) -> Iterator[ast.AST]:
    """The places in a round that read a variable up to the first statement of the loop that surely sets it."""
    for statement in loop.body:
        yield from (one for one in ast.walk(statement) if _is_read(one, name))
        if _first_use([statement], name) is _Use.SET:
            return


def _first_use(statements: Iterable[ast.stmt], name: str) -> _Use | None:
    """The first that is done with a name, where all ways do it; a read where one way may read it first."""
    for statement in statements:
        blocks = _blocks(statement)
        use = _first_use_of(statement, blocks, name) if blocks else _used(statement, name)
        if use is not None:
            return use
    return None


def _first_use_of(statement: ast.stmt, blocks: _Blocks, name: str) -> _Use | None:
    """The same of a statement with blocks of its own."""
    head = _head(statement)
    at_head = [_used(one, name) for one in head]
    if _Use.READ in at_head:
        return _Use.READ
    uses = [_first_use(block, name) for block in blocks]
    if _Use.READ in uses:
        return None if _Use.SET in at_head else _Use.READ
    is_sure = not isinstance(statement, (ast.For, ast.While))  # whose blocks may run not once
    return _Use.SET if is_sure and all(use is _Use.SET for use in uses) else None


def _head(statement: ast.stmt) -> list[ast.AST]:
    """What a statement with blocks computes or sets before it enters them."""
    return [one for one in ast.iter_child_nodes(statement) if isinstance(one, (ast.expr, ast.withitem))]


def _blocks(statement: ast.stmt) -> _Blocks:
    """The blocks of a statement, of which any may run; an `if` has two, one of them empty where it has no else."""
    if isinstance(statement, (ast.If, ast.For, ast.While)):
        return statement.body, statement.orelse
    if isinstance(statement, ast.With):
        return (statement.body,)
    if isinstance(statement, ast.Try):
        return (statement.body, *(one.body for one in statement.handlers))
    return ()


def _used(node: ast.AST, name: str) -> _Use | None:
    """What a piece of code without blocks does with a name first: it reads before it sets."""
    if any(_is_read(one, name) for one in ast.walk(node)):
        return _Use.READ
    uses = (one for one in ast.walk(node) if isinstance(one, ast.Name) and one.id == name)
    return _Use.SET if any(isinstance(one.ctx, ast.Store) for one in uses) else None


def _is_read(node: ast.AST, name: str) -> bool:
    """Whether a name is read at a place; `name += 1` reads it as well."""
    if isinstance(node, ast.AugAssign):
        return isinstance(node.target, ast.Name) and node.target.id == name
    return isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)
