"""Whether a program says of a hook, in words, that it limits gradients: by its name, or the names of what is around it.

A hook that clamps what it gets may well be meant for weights; one in a function limit_gradients is not.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.source_lines import Definition, enclosing
from gradscope.explain.evidence.syntax import syntax
from gradscope.model.site import Site

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_VERB = r"(?:clip|clamp|limit|cap|bound|scal|shrink|normali[sz]|truncat|squash|tam)(?:p?ing|p?ed|p?er|es|e|s)?"
_LIMITS = re.compile(rf"\b{_VERB}(?: the| all| each| every| its)? grad|\bgrad(?:ient)?s? {_VERB}\b")
_WEIGHTS = re.compile(r"weight|param")
_OF_A_PARAMETER = re.compile(r"^(?:p|w)$|param|weight", re.IGNORECASE)


def says_it_limits(case: Case, edit: Site) -> bool:
    """Whether the function around an edit is called, or described, as one that limits gradients."""
    function = enclosing(case, edit)
    return function is not None and any(map(_is_said, _texts(function)))


def stands_among_limits(case: Case, edit: Site, registered: Site | None) -> bool:
    """Whether a function whose argument has a name that says nothing stands in one, or in a class, that is called so;
    or such a one registers it."""
    function = enclosing(case, edit)
    names = [] if function is None else [one.arg for one in function.args.args]
    if function is None or any(map(_OF_A_PARAMETER.search, names)) or any(map(_WEIGHTS.search, _texts(function))):
        return False
    around = [one for site in (edit, registered) if site is not None for one in _around(case, site)]
    return any(_is_said(text) for one in around for text in _texts(one))


def _is_said(text: str) -> bool:
    return _LIMITS.search(text) is not None and _WEIGHTS.search(text) is None


def _around(case: Case, site: Site) -> Iterator[Definition | ast.ClassDef]:
    """The functions and classes around a line."""
    for node in syntax(case).nodes(site.file):
        if isinstance(node, Definition | ast.ClassDef) and node.lineno <= site.line <= (node.end_lineno or node.lineno):
            yield node


def _texts(node: Definition | ast.ClassDef) -> Iterator[str]:
    """The name of a function or class in separate words, and how a function describes itself."""
    if not isinstance(node, ast.Lambda):
        yield " ".join(_WORD.findall(node.name)).lower()
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        yield " ".join((ast.get_docstring(node) or "").lower().split())
