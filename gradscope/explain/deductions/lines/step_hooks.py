"""The line that registers a hook of an optimizer's step.

The surprise: what a hook does may be right, and only the place in which it is called wrong; another line chose that.
"""

from __future__ import annotations

import ast
from functools import partial

from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.syntax import syntax
from gradscope.functions.source import called_name
from gradscope.model.site import Origin, Site, Stack

_REGISTER = ("register_step_post_hook", "register_optimizer_step_post_hook")
_OPTIMIZERS = "torch/optim/"


def registered_behind(case: Case, stack: Stack) -> Site | None:
    """The line that has the step call, behind itself, what a stack ends in; None where it's no such hook's, or unsure.

    Of several registrations it is the only one that names the function.
    """
    function = _called_by_step(stack)
    if function is None:
        return None
    found = list(syntax(case).everywhere(_registers))
    if len(found) > 1:
        found = list(syntax(case).everywhere(partial(_registers, name=function)))
    return found[0] if len(found) == 1 else None


def _called_by_step(stack: Stack) -> str | None:
    """The user's function that an optimizer of torch called."""
    called: Site | None = None
    for site in stack:
        if site.origin is Origin.USER:
            called = site
        elif called is not None:
            return called.function if _OPTIMIZERS in site.file.replace("\\", "/") else None
    return None


def _registers(node: ast.AST, name: str | None = None) -> bool:
    """Whether a call registers a hook behind a step, which is, or is made of, the function of this name."""
    if not isinstance(node, ast.Call) or called_name(node) not in _REGISTER:
        return False
    return name is None or any(_named(one) == name for given in node.args for one in ast.walk(given))


def _named(node: ast.AST) -> str | None:
    """What a part of an expression names."""
    if isinstance(node, ast.Lambda):
        return "<lambda>"
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else None
