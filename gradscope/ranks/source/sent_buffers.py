"""Whether a program exchanges buffers itself once in a while, as by an average of running statistics behind each epoch.

The looks come while a model trains, and so they may never see such buffers equal.
"""

from __future__ import annotations

import ast

from gradscope.model.site import Site
from gradscope.ranks.source.sending import sent_outside
from gradscope.ranks.source.syntax import Function, statements
from gradscope.store.reader import Recording

_BUFFERS = frozenset(("buffers", "named_buffers", "running_mean", "running_var"))


def sends_buffers(recording: Recording) -> bool:
    """Whether a function that speaks of buffers has met others after the first backward call."""
    sites = {one.site for backward, one in sent_outside(recording) if backward and one.site is not None}
    return any(_speaks_of_buffers(recording, site) for site in sites)


def _speaks_of_buffers(recording: Recording, site: Site) -> bool:
    around = [node for node in statements(recording, site) if isinstance(node, Function) and _is_in(node, site)]
    return bool(around) and any(map(_names_one, ast.walk(max(around, key=lambda node: node.lineno))))


def _is_in(function: ast.FunctionDef | ast.AsyncFunctionDef, site: Site) -> bool:
    return function.lineno <= site.line <= (function.end_lineno or 0)


def _names_one(node: ast.AST) -> bool:
    if isinstance(node, ast.Constant):
        return node.value in _BUFFERS
    return (isinstance(node, ast.Attribute) and node.attr in _BUFFERS) or (
        isinstance(node, ast.Name) and node.id in _BUFFERS
    )
