"""A value without a derivative that is made for something else as well: then the loss is given the wrong one."""

from __future__ import annotations

import ast
from dataclasses import replace

from gradscope.explain.deductions.lines.graph_cuts import DERIVATIVE, MissingGradient
from gradscope.explain.evidence import source_lines
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import dataflow
from gradscope.explain.evidence.syntax import syntax
from gradscope.model.finding import Related
from gradscope.model.site import Site


def given_to_the_loss(case: Case, found: MissingGradient, root: int) -> MissingGradient:
    """The same with the line that gives the value to the loss, where other lines use it, too: an accuracy wants it."""
    site = found.cause.site
    if found.code != DERIVATIVE or site is None:
        return found
    name, makers = source_lines.assigned(case, site), dataflow(case).makers.get(root)
    used = _used_at(case, site, name) if name is not None and makers else set()
    made = dataflow(case).operations[makers[-1]].operation.stack if makers else ()
    losses = [one for one in made if one.is_in_function_of(site) and one.line in used]
    if len(used) < 2 or not losses:
        return found
    related = (Related("cut_at", site, name or ""), *found.cause.related)
    return replace(found, cause=replace(found.cause, site=losses[0], related=related))


def _used_at(case: Case, site: Site, name: str | None) -> set[int]:
    """The lines behind a line, in its function, that use a name."""
    around = syntax(case).function(site)
    found = [node for node in ast.walk(around) if isinstance(node, ast.Name)] if around is not None else []
    return {one.lineno for one in found if one.id == name and isinstance(one.ctx, ast.Load) and one.lineno > site.line}
