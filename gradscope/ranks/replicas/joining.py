"""The line by which parameters join an optimizer later, and nothing says which rank sends them from then on."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.functions.source import called_name, last_name, names_in
from gradscope.model.site import Site
from gradscope.ranks.source.syntax import at_line, function_around, nodes_of, tree_of
from gradscope.store.reader import Recording

_JOINS = "add_param_group"
_GROWS = frozenset(("append", "extend", "add", "update", "insert"))
_BLOCKS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.If, ast.For, ast.While, ast.With)


def joined_at(recording: Recording, leaf: str, sends: Site) -> Site | None:
    """Where a parameter joins, which the first step did not have: the line that enters it into something else than what
    the loop around a broadcast goes over, or gives it to the optimizer."""
    goes_over = set(_goes_over(recording, sends))
    if not goes_over or not _is_new(recording, leaf):
        return None
    for scope in _scopes(recording, sends):
        calls = (node for node in ast.walk(scope) if isinstance(node, ast.Call))
        joins = [node for node in calls if called_name(node) == _JOINS]
        blocks = [(_around(recording, sends, node), node.lineno) for node in joins]
        silent = [(block, line) for block, line in blocks if block is not None and not goes_over & _mentioned(block)]
        if joins:
            return at_line(recording, sends, _entering(*silent[0])) if len(silent) == 1 else None
    return None


def _scopes(recording: Recording, site: Site) -> Iterator[ast.AST]:
    """The function around a line, its class, and its file."""
    tree = tree_of(recording, site)
    function = function_around(tree, site.line)
    yield from () if function is None else (function,)
    yield from (node for node in nodes_of(tree) if isinstance(node, ast.ClassDef) and function in node.body)
    yield tree


def _mentioned(block: ast.AST) -> set[str]:
    return {name for node in ast.walk(block) for name in _names(node)}


def _entering(block: ast.AST, join: int) -> int:
    entering = (node for node in ast.walk(block) if isinstance(node, ast.Call | ast.AugAssign))
    return min((node.lineno for node in entering if _enters(node)), default=join)


def _is_new(recording: Recording, leaf: str) -> bool:
    """Whether an optimizer comes to hold a parameter that it did not hold at first."""
    looks = list(recording.optimizer_looks())
    first = {look.optimizer: look for look in reversed(looks)}
    held = {one.name for look in first.values() for one in look.parameters}
    return leaf not in held and any(leaf == one.name for look in looks for one in look.parameters)


def _goes_over(recording: Recording, site: Site) -> Iterator[str]:
    """The names of what the loops around a line go over, but for what these bind themselves."""
    function = function_around(tree_of(recording, site), site.line) or tree_of(recording, site)
    loops = [one for one in ast.walk(function) if isinstance(one, ast.For)]
    loops = [one for one in loops if one.lineno < site.line <= (one.end_lineno or 0)]
    own = {name for one in loops for name in names_in(one.target)}
    for one in loops:
        called = {called_name(node) for node in ast.walk(one.iter) if isinstance(node, ast.Call)}
        yield from (name for node in ast.walk(one.iter) for name in _names(node) if name not in own | called | {"self"})


def _names(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Attribute | ast.Name):
        yield last_name(node)


def _around(recording: Recording, sends: Site, join: ast.expr) -> ast.AST | None:
    """The function around a line, or its innermost block where that function also sends."""
    tree = tree_of(recording, sends)
    sending = function_around(tree, sends.line)
    around = [
        node
        for node in nodes_of(tree)
        if isinstance(node, _BLOCKS) and node.lineno <= join.lineno <= (node.end_lineno or 0)
    ]
    functions = [node for node in around if isinstance(node, ast.FunctionDef) and node is not sending]
    inner = [node for node in around if not isinstance(node, ast.FunctionDef)]
    if function_around(tree, join.lineno) is sending:
        return inner[-1] if inner else None
    return functions[-1] if functions else None


def _enters(node: ast.Call | ast.AugAssign) -> bool:
    """Whether something that lives on is given one more: an attribute of an object."""
    if isinstance(node, ast.Call):
        kept = node.func.value if isinstance(node.func, ast.Attribute) else None
        return called_name(node) in _GROWS and isinstance(kept, ast.Attribute)
    return isinstance(node.target, ast.Attribute)
