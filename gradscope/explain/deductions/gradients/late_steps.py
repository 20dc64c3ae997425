"""Parameters that were trained until a step, as round, came to stand on every way from the loss to them.

The surprise: the gradient is there, as zeros, and an optimizer's momentum or decay moves them on all the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import prod

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.gradients.late_changes import LateSilence, late_zeros
from gradscope.explain.deductions.lines.graph_cuts import DERIVATIVE, MissingGradient, Reason, reached
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import dataflow
from gradscope.model.finding import Related, Severity
from gradscope.model.flow import GradientState, HeldParameter
from gradscope.model.graph import Backward, Graph, Node

_KINDS = ("Round", "Sign", "Sgn", "Floor", "Ceil", "Trunc", "Fix", "FloorDivide")
_MOST = 0.5  # of the numbers that had gradients: fewer may be gates or a mask that are made hard at the end


def late_steps(case: Case) -> Iterator[MissingGradient]:
    """Each parameter behind such a step, to which gradients came before, where these are most of what learned."""
    found = [(one, node) for one in late_zeros(case) if (node := _step_before(case, one)) is not None]
    for one, node in found:
        if not _are_most(case, one, [each.held for each, _ in found if each.look is one.look]):
            continue
        cause = Cause(
            "",
            node.site,
            (Related("cut_at", node.site, node.name),),
            certain=False,
            severity=Severity.WARNING,
            node=node.id,
            op=node.op,
            module=node.module.path if node.module else None,
            backward=one.look.backward,
        )
        operator = node.name.rstrip("0123456789").removesuffix("Backward")
        missing = MissingGradient(DERIVATIVE, Reason.ZERO_DERIVATIVE, cause, operator=operator)
        yield replace(missing, names=(one.held.name,), since=one.look.count)


def _are_most(case: Case, one: LateSilence, silent: Sequence[HeldParameter]) -> bool:
    learning = [held for held in one.look.parameters if held.state is GradientState.VALUES]
    lost = _numbers(case, silent)
    return lost > _MOST * (lost + _numbers(case, learning))


def _numbers(case: Case, parameters: Sequence[HeldParameter]) -> int:
    return sum(prod(dataflow(case).shape(one.tensor)) for one in parameters)


def _step_before(case: Case, one: LateSilence) -> Node | None:
    """The step nearest to a parameter in the graph of its first zeros, where all ways lead through some; all later
    graphs from that line are like it."""
    call = case.backwards_by_number().get(-1 if one.look.backward is None else one.look.backward)
    if call is None or call.number not in case.graph_sizes() or not _stays(case, call):
        return None
    graph = case.graph(call.number)
    leaf = _leaf_of(case, graph, one.held)
    steps = {node.id for node in graph.nodes if node.name.startswith(tuple(f"{kind}Backward" for kind in _KINDS))}
    if leaf is None or not steps or leaf in reached(graph, steps) or leaf not in reached(graph, set()):
        return None
    return _nearest(graph, leaf, steps)


def _stays(case: Case, call: Backward) -> bool:
    """Whether a line that calls backward goes on with graphs like that of one call, once more at least."""
    like = case.like()
    later = [one.number for one in case.backwards() if one.stack == call.stack and one.number > call.number]
    return bool(later) and all(like.get(one) == like.get(call.number) for one in later)


def _leaf_of(case: Case, graph: Graph, held: HeldParameter) -> int | None:
    """The only node of a parameter's name: not every graph's leaves are looked at one by one."""
    known = dataflow(case).tensors.get(held.tensor)
    names = {held.name} if known is None else {held.name, known.leaf}
    found = [node.id for node in graph.nodes if node.accumulates and node.leaf in names]
    return found[0] if len(found) == 1 else None


def _nearest(graph: Graph, leaf: int, steps: set[int]) -> Node | None:
    """The first of some nodes from a leaf towards the loss."""
    users: dict[int, list[int]] = {}
    for edge in graph.edges:
        users.setdefault(edge.target, []).append(edge.source)
    front, seen = [leaf], {leaf}
    while front:
        for at in front:
            if at in steps:
                return graph.nodes[at]
        front = list({user for at in front for user in users.get(at, ())} - seen)
        seen.update(front)
    return None
