"""The lines of the step that updates a parameter."""

from __future__ import annotations

from gradscope.explain.deductions.lines.settings import setting_line
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.optimizers import creation, stepped_at
from gradscope.model.site import Site


def step_line(case: Case, leaf: str) -> Site | None:
    """The user's line that writes a parameter, in a forward stretch: the optimizer's step."""
    for block in case.blocks():
        if block.backward is None:
            for operation in block.operations:
                if any(write.leaf == leaf for write in operation.writes) and operation.site is not None:
                    return operation.site
    return None


def rate_line(case: Case, step: Site) -> Site | None:
    """The line that gives the rate of the optimizer which a line steps."""
    return setting_line(case, creation(case, stepped_at(case, step)), "lr", 1)
