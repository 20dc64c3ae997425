"""Finds the custom Function whose backward gives None for what leads to a parameter, which torch takes for zero.

A leaf whose gradient was there after a backward was measured then; one that was not got none.
"""

from __future__ import annotations

import ast

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.lines.graph_cuts import CUT, MissingGradient, Reason, reached
from gradscope.explain.deductions.numbers.weight_growth import samples_of
from gradscope.explain.evidence import source_lines
from gradscope.explain.evidence.case import Case
from gradscope.functions.source import last_name
from gradscope.model.finding import Related
from gradscope.model.graph import FunctionClass, Graph, Node
from gradscope.model.site import Origin, Site

_ADVICE = """return the gradient of each input that has one; what backward derives itself needs torch.enable_grad() and
detached inputs that require grad"""


def never_came(case: Case, name: str) -> int | None:
    """A backward that led to a leaf and gave it no gradient, where none that was measured has given it one."""
    samples = [one for one in samples_of(case) if one]
    if any(name in one for one in samples):
        return None
    numbers = (next(iter(one.values())).backward for one in samples)
    return next((number for number in numbers if any(leaf.leaf == name for leaf in _leaves(case, number))), None)


def given_none(case: Case, backward: int, name: str) -> MissingGradient | None:
    """The Function that alone hands gradients to a leaf, or through which every way from the loss to it goes, and
    behind which no leaf got a gradient.

    Of several the one nearest to the leaf: one that is given None hands on zeros, unless it gives None itself.
    """
    graph = case.graph(backward)
    own = [node for node in graph.nodes if node.function is not None and _is_own(node.function)]
    fed = _fed_by(graph, name)
    if fed and fed <= {node.id for node in own} and len({graph.nodes[one].function for one in fed}) == 1:
        return _found(case, graph.nodes[min(fed)], backward)
    found: list[tuple[int, int, Node]] = []  # leaves behind, and when it was applied: first what is nearest to them
    for function in dict.fromkeys(node.function for node in own):
        nodes = [node for node in own if node.function == function]
        seen = reached(graph, {node.id for node in nodes})
        behind = [leaf.leaf or "" for leaf in _leaves(case, backward) if leaf.id not in seen]
        if name in behind and all(never_came(case, one) is not None for one in behind):
            found.append((len(behind), min(node.seq_nr or 0 for node in nodes), nodes[0]))
    return _found(case, min(found, key=lambda one: one[:2])[2], backward) if found else None


def _fed_by(graph: Graph, name: str) -> set[int]:
    """The nodes that hand gradients to a leaf."""
    leaves = {node.id for node in graph.nodes if node.accumulates and node.leaf == name}
    return {edge.source for edge in graph.edges if edge.target in leaves}


def _leaves(case: Case, backward: int) -> list[Node]:
    return [node for node in case.graph(backward).nodes if node.accumulates and node.leaf is not None]


def _is_own(function: FunctionClass) -> bool:
    site = function.backward_site
    return site is not None and site.origin is Origin.USER


def _found(case: Case, node: Node, backward: int) -> MissingGradient:
    assert node.function is not None
    related = (Related("applied_at", node.site, node.function.bare_name),)
    site = _derived_at(case, node.function) or node.function.backward_site
    function = node.function.name
    cause = Cause("", site, related, node=node.id, backward=backward, function=function, advice=_ADVICE)
    return MissingGradient(CUT, Reason.GIVEN_NONE, cause, operator=node.function.bare_name)


def _derived_at(case: Case, function: FunctionClass) -> Site | None:
    """The line of a backward that takes derivatives itself, or computes something again, else the one that returns."""
    place = function.backward_site
    owner = source_lines.method(source_lines.class_at(case, function.class_site), "backward")
    if owner is None or place is None:
        return None
    calls = [one for one in ast.walk(owner) if isinstance(one, ast.Call)]
    derived = [one.lineno for one in calls if last_name(one.func) == "grad"]
    again = [
        one.lineno for one in calls if isinstance(one.func, ast.Attribute) and ast.unparse(one.func.value) == "ctx"
    ]
    lines = derived or again or [one.lineno for one in ast.walk(owner) if isinstance(one, ast.Return)]
    return source_lines.line(case, place.file, max(lines), "backward") if lines else None
