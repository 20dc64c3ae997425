"""GS918: a custom Function multiplies by a tensor that its backward takes out again and does not use."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.evidence import source_lines
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.syntax import syntax
from gradscope.functions.source import called_name, names_in
from gradscope.model.finding import Related
from gradscope.model.graph import FunctionClass
from gradscope.model.site import Site

_COPIES = {"clone", "contiguous", "to", "type_as", "float", "double", "half"}
_ASKED = {"saved_tensors", "needs_input_grad", "save_for_backward"}
_MEANT = re.compile(
    r"straight|ste\b|surrogat|identity|ignor|bypass|revers|estimat|dense|forward only|as it is|on purpose|unscaled"
    r"|pass(es|ed)?\b|through|mask|keep|drop|sparse|prun",
    re.IGNORECASE,
)


def factor_unread(case: Case) -> Iterator[Cause]:
    """What it flags: a custom Function that multiplies an input by a tensor and saves it, and whose backward takes it
    out of ctx.saved_tensors, never reads it, and hands the gradient on as it came.

    Why: the derivative of `x * gain` by x is gain. Without it every layer below gets a gradient of the wrong size, or
    sign, for each element; nothing raises, and a loss falls all the same.

    Wrong:
        def backward(ctx, gradient):
            (gain,) = ctx.saved_tensors
            return gradient.clone(), None

    Right:
        def backward(ctx, gradient):
            (gain,) = ctx.saved_tensors
            return gradient * gain, None

    Do instead: multiply the gradient by what forward multiplied by; where it is to pass as it is, do not save that.

    How it is found: the text of a Function that ran in a graph. Its forward returns a product of two of its arguments,
    one of which is saved; backward reads nothing but the gradient, and gives it back for the other one as it came, or
    as a copy. A hint: a name that begins with `_`, a mask, and what the class says of a straight-through or another
    gradient on purpose is left out. `gradscope check-function` compares with numbers.
    """
    for function in case.functions():
        found = _unread(case, function)
        if found is not None:
            factor, of, line = found
            yield Cause(
                f"forward of {function.bare_name} multiplies `{of}` by `{factor}`, which backward takes out and does "
                "not use: the gradient lacks this factor",
                line,
                (Related("class_at", function.class_site, function.name),),
                certain=False,
                function=function.name,
            )


def _unread(case: Case, function: FunctionClass) -> tuple[str, str, Site] | None:
    """The factor, what it is multiplied with, and the line that returns the gradient."""
    owner, place = source_lines.class_at(case, function.class_site), function.backward_site
    forward, backward = source_lines.method(owner, "forward"), source_lines.method(owner, "backward")
    if owner is None or forward is None or backward is None or place is None or _is_meant(case, owner, place.file):
        return None
    given = [one.arg for one in forward.args.args]
    inputs = given if source_lines.method(owner, "setup_context") is not None else given[1:]
    returned, taken = _only_return(backward), _taken(owner, backward)
    parts = returned.value.elts if returned is not None and isinstance(returned.value, ast.Tuple) else []
    if returned is None or len(parts) != len(inputs) or not taken or not _has_only_the_gradient(backward, taken):
        return None
    gradient = backward.args.args[1].arg
    for one, other in _factors(forward):
        if other in taken and one in inputs and _is_as_it_came(parts[inputs.index(one)], backward, gradient):
            return other, one, source_lines.line(case, place.file, returned.lineno, "backward")
    return None


def _is_meant(case: Case, owner: ast.ClassDef, file: str) -> bool:
    """Whether the class, or a comment in it or above it, speaks of a gradient that is to differ."""
    numbers = range(owner.lineno - 1, (owner.end_lineno or owner.lineno) + 1)
    comments = ((syntax(case).line(file, number) or "").partition("#")[2] for number in numbers)
    texts = [owner.name, *comments, *names_in(owner)]
    texts += [
        ast.get_docstring(one) or "" for one in ast.walk(owner) if isinstance(one, ast.ClassDef | ast.FunctionDef)
    ]
    return any(map(_MEANT.search, texts))


def _only_return(method: ast.FunctionDef) -> ast.Return | None:
    found = [one for one in ast.walk(method) if isinstance(one, ast.Return)]
    return found[0] if len(found) == 1 else None


def _taken(owner: ast.ClassDef, backward: ast.FunctionDef) -> set[str]:
    """The names of forward's arguments that are saved, and taken out under names that nothing reads."""
    saves = [one for one in ast.walk(owner) if isinstance(one, ast.Call) and called_name(one) == "save_for_backward"]
    takes = [one for one in ast.walk(backward) if isinstance(one, ast.Assign) and _is_saved(one.value)]
    names = takes[0].targets[0] if len(takes) == 1 == len(saves) else None
    if not isinstance(names, ast.Tuple | ast.List) or len(names.elts) != len(saves[0].args):
        return set()
    uses = [one.id for one in ast.walk(backward) if isinstance(one, ast.Name)]
    pairs = list(zip(names.elts, saves[0].args, strict=True))
    plain = [(to.id, one.id) for to, one in pairs if isinstance(to, ast.Name) and isinstance(one, ast.Name)]
    is_whole = len(plain) == len(pairs) and all(uses.count(to) == 1 and to[0] != "_" for to, _ in plain)
    return {one for _, one in plain} if is_whole else set()


def _is_saved(value: ast.expr) -> bool:
    return isinstance(value, ast.Attribute) and value.attr == "saved_tensors"


def _has_only_the_gradient(backward: ast.FunctionDef, taken: set[str]) -> bool:
    """Whether a backward gets nothing else from the forward: an attribute of ctx may be the factor, too."""
    context = backward.args.args[0].arg
    of_context = [one for one in ast.walk(backward) if isinstance(one, ast.Attribute) and names_in(one) == {context}]
    return len(backward.args.args) == 2 and all(one.attr in _ASKED for one in of_context)


def _factors(forward: ast.FunctionDef) -> Iterator[tuple[str, str]]:
    """The two names whose product forward returns, in both orders; none where it gives either another value."""
    returned = _only_return(forward)
    value = returned.value if returned is not None else None
    if isinstance(value, ast.Name):
        made = [one for one in ast.walk(forward) if isinstance(one, ast.Assign) and value.id in names_in(*one.targets)]
        value = made[0].value if len(made) == 1 else None
    sides = [value.left, value.right] if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mult) else []
    if isinstance(value, ast.Call) and called_name(value) in ("mul", "multiply"):
        of = value.func.value if isinstance(value.func, ast.Attribute) else None
        sides = [*([] if of is None or names_in(of) == {"torch"} else [of]), *value.args]
    stored = {one.id for one in ast.walk(forward) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
    names = [one.id for one in sides if isinstance(one, ast.Name) and one.id not in stored]
    if len(names) == len(sides) == 2 and names[0] != names[1]:
        yield names[0], names[1]
        yield names[1], names[0]


def _is_as_it_came(value: ast.expr, backward: ast.FunctionDef, gradient: str) -> bool:
    """Whether an expression is the gradient that came in, or a copy of it, under one name more at most."""
    for _ in range(2):
        while isinstance(value, ast.Call) and called_name(value) in _COPIES and isinstance(value.func, ast.Attribute):
            value = value.func.value
        if not isinstance(value, ast.Name):
            return False
        name = value.id
        stores = [one for one in ast.walk(backward) if _gives(one, name) and not _is_none(one)]
        if name == gradient:
            return not stores
        if len(stores) != 1 or not isinstance(stores[0], ast.Assign) or not isinstance(stores[0].targets[0], ast.Name):
            return False
        value = stores[0].value
    return isinstance(value, ast.Name) and value.id == gradient


def _is_none(node: ast.AST) -> bool:
    """`gradient_of_x = None`, before a condition."""
    return isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and node.value.value is None


def _gives(node: ast.AST, name: str) -> bool:
    """Whether a statement gives a name, or a part of it, a value, or edits it in place."""
    if isinstance(node, ast.Assign | ast.AugAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return name in names_in(*targets)
    call = node.func if isinstance(node, ast.Call) else None
    return isinstance(call, ast.Attribute) and call.attr.endswith("_") and name in names_in(call.value)
