"""The line that chooses which of several layers run, where a parameter of another of them got no gradient."""

from __future__ import annotations

import ast

from gradscope.functions.source import is_attribute_of, names_in
from gradscope.model.site import Site
from gradscope.ranks.source.syntax import at_line, function_around, nodes_of, tree_of
from gradscope.store.reader import Recording


def chosen_at(recording: Recording, name: str, ran: set[str]) -> Site | None:
    """Where one of the layers is taken among which that of a parameter is, by a number or a key that a function is
    given or computes, where another of them ran; None where no such line is known, or where there are several."""
    parts = name.split(".")
    for at in range(len(parts) - 2, -1, -1):
        container = ".".join([*parts[: at + 1], ""])
        others = (path[len(container) :] for path in ran if path.startswith(container))
        if any(other.split(".")[0] != parts[at + 1] for other in others):
            found = _choices(recording, parts[at])
            return found[0] if len(found) == 1 else None
    return None


def _choices(recording: Recording, attribute: str) -> list[Site]:
    """The lines that take one of what an attribute of `self` holds."""
    return [
        at_line(recording, Site(file, node.lineno, function.name), node.lineno)
        for file in sorted(recording.sources())
        for tree in [tree_of(recording, Site(file, 1))]
        for node in nodes_of(tree)
        if isinstance(node, ast.Subscript) and is_attribute_of(node.value, "self")
        if isinstance(node.value, ast.Attribute) and node.value.attr == attribute and isinstance(node.ctx, ast.Load)
        for function in [function_around(tree, node.lineno)]
        if function is not None and _is_free(function, node.slice)
    ]


def _is_free(function: ast.FunctionDef | ast.AsyncFunctionDef, key: ast.expr) -> bool:
    """Whether a key is given to a function or computed in it: that of a loop may take each of them."""
    given = function.args
    free = {one.arg for one in (*given.posonlyargs, *given.args, *given.kwonlyargs)}
    free |= {
        target.id
        for node in ast.walk(function)
        if isinstance(node, ast.Assign) and not isinstance(node.value, ast.Constant)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    names = names_in(key)
    return not isinstance(key, ast.Slice) and bool(names & (free - {"self"}))
