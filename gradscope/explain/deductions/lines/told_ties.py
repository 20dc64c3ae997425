"""Whether the program says of a line that it ties two parameters: by names, a docstring or a comment."""

from __future__ import annotations

import ast
import re

from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.syntax import syntax
from gradscope.model.site import Site

_MEANT = re.compile(
    r"\b(untied?|unshared?|separate|own|independent|apart|once|start\w*|init\w*|warm\w*)\b", re.IGNORECASE
)
_TIED = re.compile(r"\b(ti(e|es|ed|ing)|tying|shar(e|es|ed|ing))\b", re.IGNORECASE)
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")


def is_told_apart(case: Case, site: Site) -> bool:
    """Whether a comment beside a line says that what it copies is meant to be another."""
    return _MEANT.search(_comments(case, site)) is not None


def is_told_tied(case: Case, site: Site) -> bool:
    """Whether the function around a line, its class or a comment speaks of what is tied or shared, none of a start."""
    function = syntax(case).function(site)
    told = [_comments(case, site)]
    if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
        told.append(ast.get_docstring(function) or "")
        told.append("" if function.name.startswith("__") else _spoken(function.name))
        told.append(_class_around(case, site, function))
    said = " . ".join(told)
    return _TIED.search(said) is not None and _MEANT.search(said) is None


def _class_around(case: Case, site: Site, function: ast.AST) -> str:
    """The words of the name of a method's class."""
    classes = (one for one in syntax(case).nodes(site.file) if isinstance(one, ast.ClassDef))
    return next((_spoken(one.name) for one in classes if function in one.body), "")


def _spoken(name: str) -> str:
    """`tie_weights` and `TiedModel` as words."""
    return " ".join(_WORDS.findall(name))


def _comments(case: Case, site: Site) -> str:
    """The comments on a statement and right above it."""
    statement, lines = syntax(case).statement(site), syntax(case).parsed(site.file).lines
    if statement is None:
        return ""
    first = statement.lineno - 1
    while first > 0 and lines[first - 1].lstrip().startswith("#"):
        first -= 1
    return " . ".join(line.partition("#")[2] for line in lines[first : statement.end_lineno])
