"""Why no operator read a parameter that an optimizer holds: what the source says about it.

The surprise: torch.tensor() of a list of parameters takes their numbers without an operator that reads them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.gradients.silent_parameters import SilentParameter
from gradscope.explain.deductions.lines.graph_cuts import CUT, MissingGradient, Reason, born
from gradscope.explain.deductions.lines.siblings import read_in_another, sibling_read_twice
from gradscope.explain.deductions.steps.optimizer_parameters import NAMELESS
from gradscope.explain.evidence import source_lines
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.syntax import attribute_call, syntax
from gradscope.functions.source import last_name
from gradscope.model.finding import Related, Severity
from gradscope.model.site import Site
from gradscope.store.asked import kept

UNUSED = "GS726"
_TAKES_NUMBERS = ("tensor", "as_tensor", "Tensor", "FloatTensor", "DoubleTensor", "new_tensor", "asarray", "array")


def never_read(case: Case, one: SilentParameter) -> MissingGradient:
    """A parameter that no operator read: its numbers were taken, another is read in its place, or nothing is."""
    declared = born(case, one.held.tensor)
    site = declared or one.look.site
    related = (Related("declared_at", declared, one.held.name),) if declared else ()
    taken = _numbers_taken(case, one.held.name, declared)
    if taken is not None:
        call, line = taken
        return MissingGradient(CUT, Reason.PLAIN_NUMBERS, Cause("", line, related, certain=False), call=call)
    again = sibling_read_twice(case, one.held.name, declared)
    if again is not None:
        return MissingGradient(UNUSED, Reason.SIBLING_READ_TWICE, Cause("", again, related, certain=False))
    rests = _is_called_elsewhere(case, one.held.name) or read_in_another(case, one.held.name, declared)
    is_replaced = one.held.name == NAMELESS  # by something fixed, it may be: what is new and not held is told itself
    meant = Severity.INFO if rests or is_replaced else None
    return MissingGradient(UNUSED, Reason.NEVER_READ, Cause("", site, related, severity=meant))


def _numbers_taken(case: Case, parameter: str, declared: Site | None) -> tuple[str, Site] | None:
    """The call in the parameter's class that makes a new tensor of its attribute, with its line, which ran."""
    name = parameter.rpartition(".")[2]
    owner = None if declared is None else source_lines.class_around(case, declared)
    calls = () if owner is None else (one for one in ast.walk(owner) if isinstance(one, ast.Call))
    for call in calls:
        given = [inner for argument in call.args for inner in ast.walk(argument)]
        reads = any(isinstance(one, ast.Attribute) and one.attr == name for one in given)
        if reads and last_name(call.func) in _TAKES_NUMBERS and declared is not None:
            site = syntax(case).site(declared.file, call.lineno)
            if _ran(case, site):
                return ast.unparse(call.func), site
    return None


def _is_called_elsewhere(case: Case, parameter: str) -> bool:
    """Whether a line that did not run calls the module of a parameter by its name: a head for another task."""
    *_, module, _ = ("", *parameter.split("."))
    calls = list(syntax(case).everywhere(attribute_call(module))) if module and not module.isdigit() else []
    ran = _lines_that_ran(case) if calls else frozenset()
    return any((call.file, call.line) not in ran for call in calls)


def _ran(case: Case, site: Site) -> bool:
    """Whether an operator ran below a line, or below one further down in the same row of statements.

    torch.Tensor([...]) runs none: nothing else tells that it was called.
    """
    ran, file = _lines_that_ran(case), syntax(case).parsed(site.file)
    statement = file.whole_statements.get(site.line)
    row = [] if statement is None else next((one for one in _rows(syntax(case).function(site)) if statement in one), [])
    behind = row[row.index(statement) :] if statement in row else []
    lines = {line for one in behind for line in range(one.lineno, (one.end_lineno or one.lineno) + 1)}
    return (site.file, site.line) in ran or any((site.file, line) in ran for line in lines)


def _rows(function: ast.AST | None) -> Iterator[list[ast.stmt]]:
    """The rows of statements in a function: of each, those before one that ran have run."""
    for node in ast.walk(function) if function is not None else ():
        for name in ("body", "orelse", "finalbody"):
            row = getattr(node, name, None)
            if isinstance(row, list):
                yield row


@kept
def _lines_that_ran(case: Case) -> frozenset[tuple[str, int]]:
    """The lines that an operator ran below."""
    stacks = {id(one.stack): one.stack for block in case.blocks() for one in block.operations}
    return frozenset((site.file, site.line) for stack in stacks.values() for site in stack)
