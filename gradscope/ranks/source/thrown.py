"""Statements that call a collective which writes into nothing, and throw away what it returns."""

from __future__ import annotations

import ast

from gradscope.model.site import Origin, Site, Stack
from gradscope.ranks.source.syntax import at_line, function_around, nodes_in, statements, tree_of
from gradscope.store.reader import Recording

_OF_GRADIENTS = "torch/distributed/nn/functional.py"
_RETURNS = frozenset(("all_reduce", "reduce", "broadcast", "all_gather", "gather", "scatter"))  # others fill a tensor
_FUNCTIONAL = "torch/distributed/_functional_collectives.py"
_IN_PLACE = ("_inplace", "wait_tensor")  # endings: to wait for a tensor makes it good for all who have it


def thrown_by(recording: Recording, stack: Stack) -> str | None:
    """The function that a line calls and whose result its statement throws away; None for any other line."""
    at = next((place for place, site in enumerate(stack) if site.origin is Origin.USER), 0)
    called = stack[at - 1] if at else None
    call = _thrown(recording, stack[at]) if called is not None and _returns(called) else None
    if call is None or called is None:
        return None
    own = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    is_alone = sum(isinstance(node, ast.Call) for node in ast.walk(call)) == 1  # by whatever name it is imported
    return called.function if own == called.function or is_alone else None


def is_statement(recording: Recording, site: Site) -> bool:
    """Whether a line is a call and nothing else."""
    return _thrown(recording, site) is not None


def _returns(called: Site) -> bool:
    """Whether a function is a collective that writes into nothing that it is given."""
    if called.file.endswith(_OF_GRADIENTS):
        return called.function in _RETURNS
    return called.file.endswith(_FUNCTIONAL) and not called.function.endswith(_IN_PLACE)


def _thrown(recording: Recording, site: Site) -> ast.Call | None:
    """The call that is all of the only statement on a line."""
    simple = (node for node in statements(recording, site) if not hasattr(node, "body"))
    on_line = [node for node in simple if node.lineno <= site.line <= (node.end_lineno or 0)]
    only = on_line[0] if len(on_line) == 1 else None
    return only.value if isinstance(only, ast.Expr) and isinstance(only.value, ast.Call) else None


def used_below(recording: Recording, site: Site) -> Site | None:
    """The line further down in the function that uses the variable which such a call was given."""
    call = _thrown(recording, site)
    given = call.args[0] if call is not None and call.args else None
    function = function_around(tree_of(recording, site), site.line)
    if call is None or function is None or not isinstance(given, (ast.Name, ast.Attribute)):
        return None
    name, end = ast.unparse(given), call.end_lineno or call.lineno
    alike = (node for node in nodes_in(function) if isinstance(node, type(given)) and node.lineno > end)
    below = sorted((node for node in alike if ast.unparse(node) == name), key=lambda node: node.lineno)
    if not below or any(isinstance(node.ctx, ast.Store) for node in below if node.lineno == below[0].lineno):
        return None
    return at_line(recording, site, below[0].lineno)
