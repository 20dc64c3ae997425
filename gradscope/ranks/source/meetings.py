"""Values in which other ranks have a part, by the names in the source: what a collective gives, or is given."""

from __future__ import annotations

import ast
from copy import deepcopy

from gradscope.functions.source import called_name
from gradscope.model.site import Site
from gradscope.ranks.source.given import Frame
from gradscope.ranks.source.syntax import Function, statements
from gradscope.store.reader import Recording

MEETS = frozenset(
    (
        *("all_reduce", "all_gather", "all_gather_into_tensor", "all_gather_object", "all_to_all", "broadcast"),
        *("broadcast_object_list", "reduce", "reduce_scatter", "reduce_scatter_tensor", "gather", "gather_object"),
        *("gather_for_metrics", "scatter", "scatter_object_list"),
    )
)


def without_meetings(recording: Recording, frame: Frame, value: ast.expr) -> ast.expr:
    """A value without the parts that functions give which meet others, or that such are given in a frame's function,
    but for those of the program's whose result is used, which leave alone what they are given; and without what other
    functions of the program's are given, which what they return goes back to."""
    functions = functions_that_meet(recording)
    nodes = list(ast.walk(frame.function))
    alone = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    met = (node for node in nodes if isinstance(node, ast.Call) and meets(functions, node))
    calls = [node for node in met if called_name(node) in MEETS or id(node) in alone]
    shared = {ast.unparse(one) for call in calls for one in call.args if _is_place(one)}
    found = _Without(functions, shared).visit(deepcopy(value))
    return found if isinstance(found, ast.expr) else value


class _Without(ast.NodeTransformer):
    """Puts nothing in the place of what is shared."""

    def __init__(self, functions: dict[str, bool], shared: set[str]) -> None:
        self._functions, self._shared = functions, shared

    def visit(self, node: ast.AST) -> ast.AST:
        """Leave it, or what it is made of."""
        if isinstance(node, ast.Call):
            if meets(self._functions, node):
                return ast.copy_location(ast.Constant(None), node)
            if called_name(node) in self._functions:
                node.args, node.keywords = [], []
        if _is_place(node) and ast.unparse(node) in self._shared:
            return ast.copy_location(ast.Constant(None), node)
        return self.generic_visit(node)


def _is_place(node: ast.AST) -> bool:
    return isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load)


def functions_that_meet(recording: Recording) -> dict[str, bool]:
    """The names of the program's functions, and whether one of a name has a collective in it."""
    found: dict[str, bool] = {}
    for file in recording.sources():
        for node in statements(recording, Site(file, 1, "")):
            if isinstance(node, Function):
                calls = (one for one in ast.walk(node) if isinstance(one, ast.Call))
                found[node.name] = found.get(node.name, False) or any(called_name(one) in MEETS for one in calls)
    return found


def meets(functions: dict[str, bool], call: ast.Call) -> bool:
    """Whether a call is a collective, by its name, or that of a function of the program's that has one in it."""
    name = called_name(call)
    return name in MEETS or functions.get(name, False)
