"""Where a name got the value that a line uses it for, read in the source of its function."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.explain.evidence import source_lines
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.syntax import syntax
from gradscope.functions.source import called_name
from gradscope.model.site import Site

Assignment = ast.Assign | ast.AugAssign | ast.AnnAssign


def owners(case: Case, site: Site | None, attribute: str) -> set[str]:
    """The plain names whose attribute a line asks for: `loss` of `loss.backward()`."""
    asked = [
        one.value for one in source_lines.at(case, site) if isinstance(one, ast.Attribute) and one.attr == attribute
    ]
    return {one.id for one in asked if isinstance(one, ast.Name)}


def assignments(case: Case, site: Site | None, name: str) -> list[Assignment]:
    """What gives a name a value in the function around a line, before that line; in the order of the lines."""
    around = None if site is None else syntax(case).function(site)
    if around is None or site is None:
        return []
    found = [
        node
        for node in ast.walk(around)
        if isinstance(node, Assignment) and node.lineno < site.line and name in _targets(node)
    ]
    return sorted(found, key=lambda node: node.lineno)


def returns_nothing(case: Case, call: ast.AST | None) -> Site | None:
    """The only function of the user's by the name that is called, where it returns nothing though it computes."""
    if not isinstance(call, ast.Call):
        return None
    found = [site for name, site in without_return(case) if name == called_name(call)]
    named = [one.name for _, one in syntax(case).functions]
    return found[0] if len(found) == 1 == named.count(called_name(call)) else None


def without_return(case: Case) -> Iterator[tuple[str, Site]]:
    """The functions that have no return statement, and may not be abstract: they compute something."""
    for file, node in syntax(case).functions:
        inner = list(ast.walk(node))
        computes = any(isinstance(one, (ast.Assign, ast.AugAssign)) for one in inner)
        if computes and not any(isinstance(one, (ast.Return, ast.Yield)) for one in inner):
            yield node.name, syntax(case).site(file, node.lineno)


def _targets(node: Assignment) -> set[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    parts = [part for one in targets for part in (one.elts if isinstance(one, ast.Tuple) else [one])]
    return {part.id for part in parts if isinstance(part, ast.Name)}
