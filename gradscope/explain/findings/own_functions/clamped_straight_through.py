"""GS876: a custom Function that cuts values off, and passes the gradient of what it cut."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.evidence import source_lines
from gradscope.explain.evidence.case import Case
from gradscope.functions.source import called_name
from gradscope.model.finding import Related
from gradscope.model.graph import FunctionClass
from gradscope.model.site import Site

_COPIES = ("to", "type_as", "clone", "contiguous", "float", "half", "double")
_CUTS = ("clamp", "clamp_", "clip", "clip_", "hardtanh", "relu6", "clamp_min", "clamp_max")
_NAMES = 8  # that one value goes through, at most


def clamped_straight_through(case: Case) -> Iterator[Cause]:
    """What it flags: a custom Function whose forward clamps, and whose backward hands the gradient on as it came.

    Why: outside of the range the result does not move with the input. A gradient that is passed there all the same
    pushes values farther out, where nothing brings them back; rounding alone may be passed straight through.

    Wrong:
        def forward(ctx, x):
            return (x / scale).round().clamp(-8, 7) * scale
        def backward(ctx, gradient):
            return gradient

    Right:
        def backward(ctx, gradient):
            (inside,) = ctx.saved_tensors       # where the rounded values were in the range
            return gradient * inside

    Do instead: let the gradient through only where forward did not clamp.

    How it is found: the text of a Function that ran in a graph: forward, or a method that it calls, clamps, and
    backward gives the gradient back as it is, as a copy or in another dtype. A hint: some quantisers mean it.
    """
    for function in case.functions():
        line = _handed_on(case, function)
        if line is not None:
            yield Cause(
                f"backward of {function.bare_name} passes the gradient of values that forward has clamped, too",
                line,
                (Related("class_at", function.class_site, function.name),),
                certain=False,
                function=function.name,
            )


def _handed_on(case: Case, function: FunctionClass) -> Site | None:
    """The line that returns the gradient as it came, of a Function that clamps."""
    owner, place = source_lines.class_at(case, function.class_site), function.backward_site
    forward, backward = source_lines.method(owner, "forward"), source_lines.method(owner, "backward")
    if owner is None or place is None or not isinstance(forward, ast.FunctionDef) or backward is None:
        return None
    used = {called_name(one) for one in _calls(forward)}
    others = [one for one in owner.body if isinstance(one, ast.FunctionDef) and one.name in used]
    if not any(called_name(one) in _CUTS for method in (forward, *others) for one in _calls(method)):
        return None
    given = [one.arg for one in backward.args.args[1:]]
    returns = [one for one in ast.walk(backward) if isinstance(one, ast.Return) and one.value is not None]
    if len(returns) != 1 or len(given) != 1 or any(called_name(one) not in _COPIES for one in _calls(backward)):
        return None
    value = returns[0].value
    first = value.elts[0] if isinstance(value, ast.Tuple) and value.elts else value
    if not _is_given(first, backward, given[0]) or any(_writes_a_part(one) for one in ast.walk(backward)):
        return None
    return source_lines.line(case, place.file, returns[0].lineno, "backward")


def _is_given(value: ast.expr | None, method: ast.FunctionDef, given: str) -> bool:
    """Whether an expression is an argument as it came, or a copy of it, under whatever name."""
    for _ in range(_NAMES):
        while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
            value = value.func.value
        if not isinstance(value, ast.Name):
            return False
        stores = [
            one for one in ast.walk(method) if isinstance(one, ast.Assign | ast.AugAssign) and _sets(one, value.id)
        ]
        if value.id == given:
            return not stores
        if len(stores) != 1 or not isinstance(stores[0], ast.Assign) or not isinstance(stores[0].targets[0], ast.Name):
            return False
        value = stores[0].value
    return False


def _sets(statement: ast.Assign | ast.AugAssign, name: str) -> bool:
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    return any(isinstance(one, ast.Name) and one.id == name for target in targets for one in ast.walk(target))


def _writes_a_part(node: ast.AST) -> bool:
    return isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store)


def _calls(method: ast.FunctionDef) -> Iterator[ast.Call]:
    return (one for one in ast.walk(method) if isinstance(one, ast.Call))
