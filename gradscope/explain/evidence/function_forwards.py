"""Tells what ran in the forward of a custom Function, where gradients are off and the Function gives its own.

The surprise: below torch 2.14 a frame of torch's stands around such a forward; since then torch calls it from C++, and
the stack has nothing but the forward itself. It is known by its name and by being a static method, which the forward
of a module never is.
"""

from __future__ import annotations

import ast
from itertools import zip_longest

from gradscope.explain.evidence.syntax import Syntax
from gradscope.model.site import Site, Stack

_APPLY = "torch/autograd/function.py"
_CALLS_A_MODULE = "torch/nn/modules/module.py"
_METHODS = ("forward", "setup_context")


def runs_in_a_function(syntax: Syntax, stack: Stack) -> bool:
    """Whether one of the frames is such a forward, or torch's call of it."""
    return any(
        _is_at(site, _APPLY) or _is_forward(syntax, site, caller) for site, caller in zip_longest(stack, stack[1:])
    )


def _is_forward(syntax: Syntax, site: Site, caller: Site | None) -> bool:
    """A static method; where its source is not known, a forward that no module's call leads to."""
    if site.function.rpartition(".")[2] not in _METHODS:
        return False
    method = syntax.function(site)
    if isinstance(method, ast.FunctionDef):
        return any(isinstance(one, ast.Name) and one.id == "staticmethod" for one in method.decorator_list)
    return caller is not None and not _is_at(caller, _CALLS_A_MODULE)


def _is_at(site: Site, file: str) -> bool:
    return site.file.replace("\\", "/").endswith(file)
