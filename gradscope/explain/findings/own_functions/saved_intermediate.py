"""GS205 and GS207, met at run time: a second derivative through a Function that keeps what it has computed."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.gradients.saved_constants import SavedConstant, saved_constants
from gradscope.explain.evidence import source_lines
from gradscope.explain.evidence.case import Case
from gradscope.functions.source import last_name, names_in
from gradscope.model.finding import Related, Severity
from gradscope.model.site import Site

_SAVES = "save_for_backward"
_ONCE = "once_differentiable"
_APPLIES = "apply"  # a backward that is a Function itself has a derivative of its own


def saved_intermediate(case: Case) -> Iterator[Cause]:
    """A tensor that forward computed and saved, in a backward which was differentiated."""
    for found in saved_constants(case):
        if not _is_in_setup(found) and not _differentiates_itself(case, found):
            yield _cause(case, found, "forward")


def compute_in_setup_context(case: Case) -> Iterator[Cause]:
    """The same of what setup_context computed."""
    for found in saved_constants(case):
        if _is_in_setup(found) and not _differentiates_itself(case, found):
            yield _cause(case, found, "setup_context")


def _is_in_setup(found: SavedConstant) -> bool:
    frames = (site.function.rpartition(".")[2] for site in found.maker.operation.stack)
    return next((one for one in frames if one in ("forward", "setup_context")), "") == "setup_context"


def _differentiates_itself(case: Case, found: SavedConstant) -> bool:
    """Whether the derivative of backward is written down, or refused, by the source."""
    backward = source_lines.method(source_lines.class_at(case, found.function.class_site), "backward")
    if backward is None:
        return True  # nothing is known of it
    calls = any(isinstance(one, ast.Attribute) and one.attr == _APPLIES for one in ast.walk(backward))
    return calls or any(_ONCE in names_in(one) or last_name(one) == _ONCE for one in backward.decorator_list)


def _cause(case: Case, found: SavedConstant, method: str) -> Cause:
    name, saving = found.function.bare_name, _saved_at(case, found, method)
    through = "what comes through its inputs" if found.alone else "what comes through it"
    return Cause(
        f"{method} of {name} computed what its backward takes for a constant: the second derivative, taken in "
        f"backward {found.second.number}, misses {through}",
        saving or found.maker.site,
        (
            Related("used_at", found.reader.site, "backward"),
            Related("second_backward_at", found.second.site),
            Related("applied_at", found.node.site, name),
        ),
        certain=False,
        severity=Severity.WARNING if found.alone else Severity.INFO,
        node=found.node.id,
        backward=found.reader.backward,
        function=found.function.name,
    )


def _saved_at(case: Case, found: SavedConstant, method: str) -> Site | None:
    """The line that saves tensors, where it saves others than the inputs."""
    place = found.function.class_site
    around = source_lines.method(source_lines.class_at(case, place), method)
    if place is None or around is None:
        return None
    inputs = {one.arg for one in around.args.args}
    calls = [one for one in ast.walk(around) if isinstance(one, ast.Call) and last_name(one.func) == _SAVES]
    saving = [one.lineno for one in calls if any(_is_computed(given, inputs) for given in one.args)]
    return source_lines.line(case, place.file, saving[0], method) if len(saving) == 1 else None


def _is_computed(given: ast.expr, inputs: set[str]) -> bool:
    return not isinstance(given, ast.Name) or given.id not in inputs
