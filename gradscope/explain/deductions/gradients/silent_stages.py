"""Parameters that an optimizer was chosen to train in a stage, and that only another one's stage does train.

The surprise: over the whole run they have gradients, so that only a look at each stage by itself shows it.
"""

from __future__ import annotations

from dataclasses import replace

from gradscope.explain.deductions.gradients.late_changes import flow_of
from gradscope.explain.deductions.gradients.likely_cuts import likeliest
from gradscope.explain.deductions.gradients.silent_parameters import SilentParameter
from gradscope.explain.deductions.lines.graph_cuts import MissingGradient, at_cut
from gradscope.explain.evidence.case import Case
from gradscope.model.finding import Severity
from gradscope.model.flow import GradientState, OptimizerLook
from gradscope.store.asked import kept


def cut_in_a_stage(case: Case, one: SilentParameter) -> MissingGradient | None:
    """What cuts such a parameter off in the stage: a hint, for a stage may let it rest."""
    looks = _looks(case)[one.look.optimizer]
    if not _is_chosen(case, one) or _is_reached(case, one, looks[0], looks[-1]):
        return None
    flow = flow_of(case, looks[0], looks[-1])
    way = flow.onward(one.held.tensor)
    cuts = [cut for cut in way.cuts if cut.made in flow.useful and not flow.is_whole(cut.made)]
    if not cuts:
        return None
    found = at_cut(case, likeliest(flow, way, cuts, set()))
    return replace(found, cause=replace(found.cause, certain=False, severity=Severity.INFO))


@kept
def _looks(case: Case) -> dict[int, list[OptimizerLook]]:
    found: dict[int, list[OptimizerLook]] = {}
    for look in case.optimizer_looks():
        found.setdefault(look.optimizer, []).append(look)
    return found


def _is_chosen(case: Case, one: SilentParameter) -> bool:
    """Whether another optimizer trains a parameter with others that this one leaves out: it was given on purpose.

    One that holds a whole model may train the head of it alone at first.
    """
    mine = {held.tensor for held in one.look.parameters}
    for number, looks in _looks(case).items():
        held = {each.tensor for look in looks for each in look.parameters}
        if number != one.look.optimizer and one.held.tensor in held and held - mine:
            states = (each.state for look in looks for each in look.parameters if each.tensor == one.held.tensor)
            if GradientState.VALUES in states:
                return True
    return False


def _is_reached(case: Case, one: SilentParameter, first: OptimizerLook, last: OptimizerLook) -> bool:
    """Whether a graph of the stage has a parameter in it."""
    if first.backward is None or last.backward is None:
        return True
    stage = range(first.backward, last.backward + 1)
    if any(leaf.backward in stage for leaf in case.leaf_gradients() if leaf.tensor == one.held.tensor):
        return True
    like = {case.like().get(number) for number in stage if number in case.graph_sizes()} - {None}
    nodes = (node for number in like if number is not None for node in case.graph(number).nodes)
    return any(node.leaf == one.held.name and node.accumulates for node in nodes)
