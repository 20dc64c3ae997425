"""Whether a line takes norms that are roots of sums of squares: the greatest magnitude is put together otherwise."""

from __future__ import annotations

import ast

from gradscope.functions.source import called_name
from gradscope.model.site import Site
from gradscope.ranks.source.syntax import nodes_of, tree_of
from gradscope.store.reader import Recording

_NORMS = frozenset(("norm", "vector_norm", "_foreach_norm", "get_total_norm"))
_ORDERS = frozenset(("p", "ord", "norm_type"))
_MODULES = frozenset(("torch", "linalg", "LA", "utils", "nn"))  # else it is a tensor's own method
_SQUARE = 2


def takes_a_root_of_squares(recording: Recording, site: Site) -> bool:
    """Whether each call on a line that takes a norm names no other order than two; not where there is no such call."""
    nodes = (node for node in nodes_of(tree_of(recording, site)) if isinstance(node, ast.Call))
    calls = [node for node in nodes if node.lineno == site.line and called_name(node) in _NORMS]
    return bool(calls) and all(_is_square(order) for call in calls for order in _orders(call))


def divides_itself(recording: Recording, site: Site) -> bool:
    """Whether a line puts in the place of a variable what is that divided: a mean of what it was a sum of."""
    for node in nodes_of(tree_of(recording, site)):
        if isinstance(node, ast.AugAssign) and node.lineno == site.line and isinstance(node.op, ast.Div):
            return True
        if isinstance(node, ast.Assign) and node.lineno == site.line and isinstance(node.value, ast.BinOp):
            of, into = node.value.left, node.targets[0]
            return isinstance(node.value.op, ast.Div) and ast.unparse(of) == ast.unparse(into)
    return False


def _orders(call: ast.Call) -> list[ast.expr]:
    """What a call is given beside the tensor, as far as it may be an order."""
    of = call.func.value if isinstance(call.func, ast.Attribute) else None
    name = getattr(of, "attr", getattr(of, "id", ""))
    is_function = of is None or name in _MODULES
    return [*call.args[int(is_function) :][:1], *(one.value for one in call.keywords if one.arg in _ORDERS)]


def _is_square(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value == _SQUARE
