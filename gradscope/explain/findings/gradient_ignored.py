"""GS418, met at run time: a custom Function whose backward does not look at the gradient that comes in."""

from __future__ import annotations

import ast
import math
from collections import defaultdict
from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.evidence import source_lines
from gradscope.explain.evidence.case import Case
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


def gradient_ignored(case: Case) -> Iterator[Cause]:
    """A backward whose text never names the gradient that it is given, where that is not 1."""
    for function in case.functions():
        returned = _returned(case, function)
        met = None if returned is None else _met(case, function)
        if met is not None:
            node, backward = met
            yield Cause(
                f"backward of {function.bare_name} does not use the gradient that it is given: what it returns is "
                "right only for the last step of a loss",
                returned,
                (Related("class_at", function.class_site, function.name), Related("applied_at", node.site)),
                certain=False,
                severity=Severity.WARNING,
                node=node.id,
                backward=backward,
                function=function.name,
            )


def _returned(case: Case, function: FunctionClass) -> Site | None:
    """The line that returns a gradient, of a backward that names none of those that it is given."""
    owner, place = source_lines.class_at(case, function.class_site), function.backward_site
    backward = source_lines.method(owner, "backward")
    if backward is None or place is None or isinstance(backward, ast.Lambda):
        return None
    given = [one.arg for one in backward.args.args[1:]] + ([backward.args.vararg.arg] if backward.args.vararg else [])
    read = {one.id for one in ast.walk(backward) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load)}
    if not given or not read.isdisjoint((*given, *_ALL_NAMES)):
        return None
    lines = [one.lineno for one in ast.walk(backward) if isinstance(one, ast.Return) and _gives_something(one.value)]
    return source_lines.line(case, place.file, max(lines), "backward") if lines else None


def _gives_something(value: ast.expr | None) -> bool:
    """Whether a return gives a gradient: not None, nor zeros."""
    gradients = value.elts if isinstance(value, ast.Tuple) else [] if value is None else [value]
    return any(not isinstance(one, ast.Constant) and "zeros" not in ast.unparse(one) for one in gradients)


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
