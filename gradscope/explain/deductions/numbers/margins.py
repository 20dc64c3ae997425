"""Losses that have become the margin of a hinge: what it is added to has vanished, as all points are the same."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator

from gradscope.explain.deductions.lines.settings import calls_at, value_line
from gradscope.explain.deductions.numbers.gone_gradients import are_gone
from gradscope.explain.deductions.numbers.weight_growth import samples_of
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.syntax import syntax
from gradscope.functions.source import last_name
from gradscope.model.graph import Node
from gradscope.model.site import Site, Stack, user_frames

_LATE = 8  # losses at the end
_LOOKS, _FADED = 5, 1e-3  # at gradients; what is left of them at most
_SAME = 1e-4  # relative
_CUTS = ("relu", "relu_", "clamp", "clamp_", "clamp_min", "clamp_min_", "clip", "maximum")
_HINGES = ("ReluBackward", "ClampMinBackward", "ClampBackward", "ThresholdBackward")


def margin_reached(case: Case) -> tuple[float, Site] | None:
    """The margin that all of the last losses are, and the line of its hinge, in a run that began with another loss."""
    looks, losses = samples_of(case), case.losses()
    if len(looks) < _LOOKS or not are_gone(looks, _FADED):
        return None
    late = list(losses.values())[-_LATE:]
    if len(losses) < 2 * _LATE or not late[-1] or not _is(late[-1], *late) or _is(late[-1], *list(losses.values())[:1]):
        return None
    graph = case.graph(list(losses)[-1])
    for node in graph.nodes:
        if node.name.startswith(_HINGES) and node.site is not None:
            for number in _numbers(case, node):
                if _is(number, *late):
                    return number, node.site
    return None


def _is(number: float, *losses: float) -> bool:
    return all(math.isclose(one, number, rel_tol=_SAME) for one in losses)


def _numbers(case: Case, node: Node) -> Iterator[float]:
    """The numbers that a hinge adds to what it cuts off, or those of the lines that give them."""
    own = user_frames(node.stack)
    for value in _added(case, own):
        line = value_line(case, own, value)
        given = None if line is None else syntax(case).statement(line)
        yield from _constants(given) if given is not None else ()


def _added(case: Case, own: Stack) -> Iterator[ast.expr]:
    """The terms of sums inside of a call of relu() or clamp(): what is added behind it is no margin."""
    for call in calls_at(case, own[0]) if own else ():
        if last_name(call.func) in _CUTS:
            for node in ast.walk(call):
                if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
                    yield from (node.left, node.right)


def _constants(given: ast.AST) -> Iterator[float]:
    for node in ast.walk(given):
        if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
            yield float(node.value)
