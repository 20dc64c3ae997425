"""A lookup with max_norm edits the weight that it looks into, and no line of the program: what read it needs a copy."""

from __future__ import annotations

import ast

from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.syntax import syntax
from gradscope.functions.source import names_in
from gradscope.model.operation import Operation, base_name
from gradscope.model.site import Origin, Site

_RENORM = "embedding_renorm_"


def by_lookup(operation: Operation | None) -> bool:
    """Whether a write is that of a lookup with max_norm, inside of torch: no line of the program can leave it out."""
    if operation is None or base_name(operation.name) != _RENORM:
        return False
    return bool(operation.stack) and operation.stack[0].origin is Origin.TORCH


def read_before_lookup(case: Case, saved: Site | None, leaf: str | None) -> Site | None:
    """Where a weight is read for the line that saved it: the assignment above, in its function, that gives the weight
    itself a name which that line reads, where there is one alone; else that line."""
    statement = None if saved is None else syntax(case).parsed(saved.file).whole_statements.get(saved.line)
    function = None if saved is None else syntax(case).function(saved)
    if saved is None or statement is None or function is None:
        return saved
    read, end = names_in(statement), (leaf or "").rpartition(".")[2]
    assigns = [one for one in ast.walk(function) if isinstance(one, ast.Assign) and one.lineno < statement.lineno]
    named = [one for one in assigns if isinstance(one.value, ast.Attribute) and one.value.attr == end]
    given = [one for one in named if any(isinstance(place, ast.Name) and place.id in read for place in one.targets)]
    return syntax(case).site(saved.file, given[0].lineno) if len(given) == 1 else saved
