"""Whether what a closure gives to its optimizer is of all ranks: a collective ran in it on a line that makes this."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.model.site import Site
from gradscope.ranks.source.meetings import functions_that_meet, meets
from gradscope.ranks.source.syntax import Function, function_around, nodes_in, tree_of
from gradscope.store.collective_reader import read_runs
from gradscope.store.reader import Recording

_Assigned = ast.Assign | ast.AnnAssign | ast.AugAssign


def is_shared(recording: Recording, site: Site) -> bool:
    """Whether a rank entered a collective by a line of the function around a site, whose result, or what it was given,
    goes into what that returns. The gradients that it shares are no part of its loss."""
    function = function_around(tree_of(recording, site), site.line)
    if function is None:
        return False
    functions, names = functions_that_meet(recording), _returned(function)
    calls = [node for node in nodes_in(function) if isinstance(node, ast.Call) and meets(functions, node)]
    making = {line for node in _makers(function, names) for line in range(node.lineno, (node.end_lineno or 0) + 1)}
    lines = {call.lineno for call in calls if call.lineno in making or _is_given(call, names)}
    return bool(lines) and any(one.is_in_function_of(site) and one.line in lines for one in _entered_under(recording))


def _returned(function: Function) -> set[str]:
    """The names that what a function returns goes back to."""
    found = {name for node in _makers(function, set()) for name in _names(node)}
    while True:
        more = {name for node in _makers(function, found) for name in _names(node)}
        if more <= found:
            return found
        found |= more


def _makers(function: Function, names: set[str]) -> Iterator[ast.stmt]:
    """The statements that return something, or assign to one of some names."""
    for node in nodes_in(function):
        if isinstance(node, _Assigned):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(isinstance(one, ast.Name) and one.id in names for one in targets):
                yield node
        elif isinstance(node, ast.Return):
            yield node


def _names(statement: ast.stmt) -> Iterator[str]:
    """The names in what a statement returns or assigns, but for those that it calls: a model is no part of its loss."""
    value = getattr(statement, "value", None)
    nodes = list(ast.walk(value)) if isinstance(value, ast.AST) else []
    called = {node.func for node in nodes if isinstance(node, ast.Call)}
    return (node.id for node in nodes if isinstance(node, ast.Name) and node not in called)


def _is_given(call: ast.Call, names: set[str]) -> bool:
    return any(
        isinstance(one, ast.Name) and one.id in names for one in (*call.args, *(each.value for each in call.keywords))
    )


def _entered_under(recording: Recording) -> Iterator[Site]:
    """The frames under which a rank entered collectives."""
    stacks = {run[-1] for run in read_runs(recording.tables.rows)}
    return (site for stack in stacks for site in recording.tables.interned.stack(stack))
