"""The lines of a program that clear gradients, and whether one of them holds a part of a model still on purpose.

The surprise: an optimizer leaves out what has no .grad, so `.grad = None` before its step is a way to freeze.
"""

from __future__ import annotations

from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.syntax import attribute_call, syntax
from gradscope.model.flow import GradientState, OptimizerLook
from gradscope.model.site import Site


def zero_grad_between(case: Case, backward: Site | None, step: Site | None) -> Site | None:
    """The line that clears gradients between two lines of one function, else the only one anywhere."""
    lines = [*_calls(case), *_by_hand(case)]
    if backward is not None and step is not None:
        for site in lines:
            if _lies_between(site, backward, step):
                return site
        outside = [site for site in lines if site.file != step.file or site.function != step.function]
        lines = outside or lines
    return lines[0] if lines else None


def held_by_hand(case: Case, backward: Site | None, look: OptimizerLook) -> bool:
    """Whether the program sets gradients to None itself while others learn in the same step, with no zero_grad() before
    it that could have taken them away by mistake."""
    if all(one.state is not GradientState.VALUES for one in look.parameters) or not _by_hand(case):
        return False
    if backward is None or look.site is None:
        return True
    return not any(_lies_between(site, backward, look.site) for site in _calls(case))


def _calls(case: Case) -> list[Site]:
    return list(syntax(case).everywhere(attribute_call("zero_grad")))


def _by_hand(case: Case) -> list[Site]:
    return list(syntax(case).matching(lambda code: code.endswith(".grad=None")))


def _lies_between(site: Site, backward: Site, step: Site) -> bool:
    return site.file == backward.file == step.file and backward.line < site.line < step.line
