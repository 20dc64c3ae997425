"""Finds classes in the recorded sources: the recording knows the lines that ran, not the declarations."""

from __future__ import annotations

import ast
import re

from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.syntax import syntax
from gradscope.model.site import Origin, Site, Stack

_APPLY = re.compile(r"(?:\w+\.)*(\w+)\.apply\(")


def applied(stack: Stack) -> str | None:
    """The name of the custom Function that the innermost line with an `.apply(` calls."""
    for site in stack:
        found = _APPLY.search(site.source or "")
        if found is not None and site.origin is not Origin.TORCH:
            return found[1]
    return None


def declared(case: Case, name: str, method: str | None = None, call: str | None = None) -> Site | None:
    """The line of a class, of the `def` of one of its methods, or of a call in there, as far as they are found.

    None when no recorded source has the class.
    """
    for file in syntax(case).files:
        for found in syntax(case).nodes(file):
            if isinstance(found, ast.ClassDef) and found.name == name:
                return syntax(case).site(file, _line(found, method, call), name)
    return None


def _line(found: ast.ClassDef, method: str | None, call: str | None) -> int:
    body = next((one for one in found.body if isinstance(one, ast.FunctionDef) and one.name == method), None)
    calls = (one for one in ast.walk(body or found) if isinstance(one, ast.Call) and call is not None)
    named = (one for one in calls if isinstance(one.func, ast.Attribute) and one.func.attr == call)
    return next(named, body or found).lineno
