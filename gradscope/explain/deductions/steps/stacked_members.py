"""An ensemble whose members an optimizer holds, while stacked copies of their parameters are what runs.

torch's stack_module_state gives new leaves: the cut is how it is meant to be, and the optimizer has the wrong tensors.
"""

from __future__ import annotations

from dataclasses import replace

from gradscope.explain.deductions.lines.graph_cuts import MissingGradient, Reason, at_cut
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import Way, dataflow
from gradscope.explain.evidence.optimizers import creation
from gradscope.model.finding import Related
from gradscope.model.site import Origin, Site, Stack

_STACKS = "stack_module_state"
_ADVICE = "give the optimizer the stacked parameters, or write them back to the members that it holds."


def stacked_members(case: Case, optimizer: int, way: Way) -> MissingGradient | None:
    """The stacking that cuts a member's parameter off; the line that makes the optimizer, where it is made after it."""
    flow = dataflow(case)
    for cut in way.cuts:
        stack = flow.operations[cut.operation].operation.stack
        if cut.made in flow.useful and any(site.function == _STACKS and site.origin is Origin.TORCH for site in stack):
            found, made = at_cut(case, cut), _made_after(stack, creation(case, optimizer))
            related = () if made is None else (Related("cut_at", found.cause.site, _STACKS),)
            cause = replace(found.cause, site=made or found.cause.site, related=related, advice=_ADVICE)
            return replace(found, cause=cause, reason=Reason.STACKED, hidden=False)
    return None


def _made_after(stacked: Stack, made: Stack) -> Site | None:
    """The line of a function that makes an optimizer further down than it has stacked the members."""
    for site in made:
        if site.origin is Origin.USER:
            for before in stacked:
                if before.is_in_function_of(site) and before.line < site.line:
                    return site
    return None
