"""GS418, met at run time: a custom Function whose backward does not look at the gradient that comes in."""

from __future__ import annotations

import ast
import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.lines.derived_names import derived_names
from gradscope.explain.evidence import source_lines
from gradscope.explain.evidence.case import Case
from gradscope.functions.source import names_in
from gradscope.model.finding import Related, Severity
from gradscope.model.graph import FunctionClass, Graph, Node
from gradscope.model.site import Site

_PASSING = (
    "SumBackward",
    "ViewBackward",
    "UnsafeViewBackward",
    "SqueezeBackward",
    "UnsqueezeBackward",
    "ExpandBackward",
    "AddBackward",
    "CloneBackward",
    "AliasBackward",
)
_OF_ONE_NUMBER = ("MeanBackward",)
_ALL_NAMES = ("locals", "vars", "exec", "eval")
_RUNS_AGAIN = ("backward", "grad")  # attributes: the gradient goes through a graph of its own, and comes out as .grad


@dataclass(frozen=True, slots=True)
class _Ignoring:
    """Where a backward makes a gradient of nothing that came in; of which input, where others are made of it."""

    site: Site
    of: str = ""


def gradient_ignored(case: Case) -> Iterator[Cause]:
    """A backward that returns what does not come from the gradient that it is given, where that is not 1."""
    for function in case.functions():
        returned = _returned(case, function)
        met = None if returned is None else _met(case, function)
        if returned is not None and met is not None:
            node, backward = met
            gives = f"for `{returned.of}`" if returned.of else ""
            yield Cause(
                f"backward of {function.bare_name} does not use the gradient that it is given{gives and f' {gives}'}: "
                "what it returns is right only for the last step of a loss",
                returned.site,
                (Related("class_at", function.class_site, function.name), Related("applied_at", node.site)),
                certain=False,
                severity=Severity.WARNING,
                node=node.id,
                backward=backward,
                function=function.name,
            )


def _returned(case: Case, function: FunctionClass) -> _Ignoring | None:
    """The line that makes a gradient from none of those that a backward is given."""
    owner, place = source_lines.class_at(case, function.class_site), function.backward_site
    backward = source_lines.method(owner, "backward")
    if owner is None or backward is None or place is None:
        return None
    given = [one.arg for one in backward.args.args[1:]] + ([backward.args.vararg.arg] if backward.args.vararg else [])
    attributes = {one.attr for one in ast.walk(backward) if isinstance(one, ast.Attribute)}
    if not given or not names_in(backward).isdisjoint(_ALL_NAMES) or not attributes.isdisjoint(_RUNS_AGAIN):
        return None
    derived = derived_names(backward, given)
    returns = [one for one in ast.walk(backward) if isinstance(one, ast.Return) and one.value is not None]
    giving = [one for one in returns if any(_gives_something(backward, part) for part in _parts(one))]
    if giving and all(names_in(one).isdisjoint(derived) for one in giving):
        number = max(one.lineno for one in giving)
        return _Ignoring(source_lines.line(case, place.file, number, "backward"))
    for position, name in enumerate(_inputs(owner)):
        parts = [_parts(one)[position] for one in giving if position < len(_parts(one))]
        given_on = [part for part in parts if _gives_something(backward, part)]
        if given_on and all(names_in(part).isdisjoint(derived) for part in parts) and _goes_into(owner, name):
            made = _made(backward, given_on[-1])
            return _Ignoring(source_lines.line(case, place.file, made, "backward"), name)
    return None


def _parts(returned: ast.Return) -> list[ast.expr]:
    """The gradients that a return gives, one for each input; none where their number is not written down."""
    value = returned.value
    parts = value.elts if isinstance(value, ast.Tuple) else [] if value is None else [value]
    return [] if any(isinstance(one, ast.Starred) for one in parts) else parts


def _gives_something(backward: ast.FunctionDef, value: ast.expr) -> bool:
    """Whether a gradient is given: not None, nor zeros."""
    assigned = [one.value for one in ast.walk(backward) if isinstance(one, ast.Assign) and _sets(one, value)]
    return any(not isinstance(one, ast.Constant) and "zeros" not in ast.unparse(one) for one in assigned or [value])


def _made(backward: ast.FunctionDef, value: ast.expr) -> int:
    """The last line that gives a name what is returned under it; the line of the return for what has none."""
    lines = [one.lineno for one in ast.walk(backward) if isinstance(one, ast.Assign) and _sets(one, value)]
    return max(lines, default=value.lineno)


def _sets(statement: ast.Assign, value: ast.expr) -> bool:
    return isinstance(value, ast.Name) and value.id in names_in(*statement.targets)


def _inputs(owner: ast.ClassDef) -> list[str]:
    """The inputs of forward by their order; none where it takes any number."""
    forward = source_lines.method(owner, "forward")
    if forward is None or forward.args.vararg is not None:
        return []
    names = [one.arg for one in forward.args.args]
    return names if source_lines.method(owner, "setup_context") is not None else names[1:]


def _goes_into(owner: ast.ClassDef, name: str) -> bool:
    """Whether forward's result comes from an input: one that it only hands by, a loss to be added, is given 1."""
    forward = source_lines.method(owner, "forward")
    derived = set() if forward is None else derived_names(forward, [name], calls_write=False)
    returns = [] if forward is None else [one for one in ast.walk(forward) if isinstance(one, ast.Return)]
    return any(not names_in(one).isdisjoint(derived) for one in returns)


def _met(case: Case, function: FunctionClass) -> tuple[Node, int] | None:
    """A node of the Function that is given another gradient than 1, with its backward call."""
    for backward in case.graph_sizes():
        graph = case.graph(backward)
        for node in graph.nodes:
            if node.function == function and _is_scaled(graph, node):
                return node, backward
    return None


def _is_scaled(graph: Graph, node: Node) -> bool:
    """Whether a node between the loss and this one does more than hand its gradient on."""
    above: dict[int, set[int]] = defaultdict(set)
    for edge in graph.edges:
        above[edge.target].add(edge.source)
    one_number = all(math.prod(one.shape) == 1 for one in node.inputs_meta if one is not None)
    passing = (*_PASSING, *_OF_ONE_NUMBER) if one_number else _PASSING
    waiting, seen = [node.id], {node.id}
    while waiting:
        sources = above[waiting.pop()] - seen
        if any(not graph.nodes[source].short_name.startswith(passing) for source in sources):
            return True
        waiting += sources
        seen |= sources
    return False
