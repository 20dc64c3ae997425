"""Custom Functions whose backward returns what torch cannot accept: GS761."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.evidence import source_lines
from gradscope.explain.evidence.case import Case
from gradscope.model.finding import Related
from gradscope.model.graph import Backward, FunctionClass, Node
from gradscope.model.site import Site

_COUNT = re.compile(r"function (\w+)Backward returned an incorrect number of gradients \(expected (\d+), got (\d+)\)")
_SHAPE = re.compile(r"Function (\w+)Backward returned an invalid gradient at index (\d+) - (.*)")
_NOT_A_TENSOR = re.compile(r"function (\w+)Backward returned a gradient different than None at position (\d+)")
_TYPE = re.compile(r"expected Variable or None \(got (\w+)\)")
_COMPLEX = "input_is_complex == grad_is_complex"


def backward_returns(case: Case) -> Iterator[Cause]:
    """A backward that returns the wrong thing.

    What it flags: the backward of a custom autograd.Function returned too few or too many gradients, one of the wrong
        shape, dtype or device, one for an argument that is no tensor, or something that is no tensor.
    Why: torch takes the returned values one by one as the gradients of forward's arguments, in their order: there must
        be one for each, of that argument's shape, and None for what is no tensor.
    Wrong:
        def forward(ctx, x, scale): ...
        def backward(ctx, grad):
            return grad * ctx.scale           # and for scale?
    Right:
        def backward(ctx, grad):
            return grad * ctx.scale, None
    Do instead: return one value for each argument of forward, None for those that need none; sum over the dimensions
        that the forward broadcast.
    How it is found: torch's error names the Function, the recording knows where its backward stands; of several
        returns, the one whose number of values torch complained of is named.
    """
    for call in case.failed():
        found = _wrong(case, call)
        if found is not None:
            node, message, advice, got = found
            returned = _return(case, node.function, got) if node.function is not None else None
            name = node.function.name if node.function is not None else node.name
            yield Cause(
                message,
                returned or (node.function.backward_site if node.function is not None else None) or node.site,
                _places(call, node),
                fails=True,
                certain=returned is not None,
                advice=advice,
                node=node.id,
                backward=call.number,
                function=name,
            )


def _wrong(case: Case, call: Backward) -> tuple[Node, str, str, int | None] | None:
    """The node, what is wrong with what it returned, what to return, and how many values it returned."""
    text = call.exception or ""
    if found := _COUNT.search(text):
        node, expected, got = _named(case, call, found[1]), int(found[2]), int(found[3])
        message = f"{found[1]}.backward returned {_values(got)}; its forward takes {expected} arguments"
        return None if node is None else (node, message, f"return {_values(expected)}, None where there is none", got)
    if found := _SHAPE.search(text):
        node = _named(case, call, found[1])
        message = f"{found[1]}.backward returned, for argument {found[2]}, a wrong gradient: {found[3]}"
        advice = "return a gradient of the argument's own shape, dtype and device: sum over what the forward broadcast"
        return None if node is None else (node, message, advice, None)
    if found := _NOT_A_TENSOR.search(text):
        node, position = _named(case, call, found[1]), int(found[2]) - 1
        message = f"{found[1]}.backward returned a gradient for argument {position}, which is no tensor"
        return None if node is None else (node, message, "return None for it", None)
    found = _TYPE.search(text)
    if found or _COMPLEX in text:
        node = _last_function(case, call)
        what = f"a {found[1]}, which is no tensor" if found else "a complex gradient for a real argument"
        advice = "return tensors, or None" if found else "return the real part of it (`grad.real`)"
        return None if node is None else (node, f"{_class_name(node)}.backward returned {what}", advice, None)
    return None


def _named(case: Case, call: Backward, name: str) -> Node | None:
    """The Function's node, the one that ran last if there are several."""
    name = name.removesuffix("Generated")
    nodes = [one for one in case.graph(call.number).nodes if one.function and _class_name(one) == name]
    last = _last_function(case, call)
    return last if last in nodes else next(iter(nodes), None)


def _last_function(case: Case, call: Backward) -> Node | None:
    """The custom Function whose backward ran last, and therefore failed."""
    nodes = case.graph(call.number).nodes
    for block in reversed(case.blocks()):
        for operation in reversed(block.operations) if block.backward == call.number else ():
            node = None if operation.node is None else nodes[operation.node]
            if node is not None and node.function is not None:
                return node
    candidates = [node for node in nodes if node.function is not None]
    return max(candidates, key=lambda node: node.seq_nr or 0, default=None)


def _return(case: Case, function: FunctionClass, got: int | None) -> Site | None:
    """The return statement of a Function's backward with this many values; the last one when any may be meant."""
    place = function.backward_site
    declared = source_lines.method(source_lines.class_at(case, function.class_site), "backward")
    owner = declared or source_lines.enclosing(case, place)
    returns = [node for node in ast.walk(owner) if isinstance(node, ast.Return)] if owner is not None else []
    counted = [node for node in returns if got is not None and _count(node) == got] or returns
    last = max(counted, key=lambda node: node.lineno, default=None)
    return None if last is None or place is None else source_lines.line(case, place.file, last.lineno, "backward")


def _count(node: ast.Return) -> int | None:
    return len(node.value.elts) if isinstance(node.value, ast.Tuple) else 1


def _class_name(node: Node) -> str:
    return node.function.bare_name if node.function is not None else node.name


def _values(count: int) -> str:
    return "1 value" if count == 1 else f"{count} values"


def _places(call: Backward, node: Node) -> tuple[Related, ...]:
    places = [Related("fails_at", call.site, f"backward {call.number}")]
    if node.function is not None and node.function.class_site is not None:
        places.insert(0, Related("class_at", node.function.class_site, node.function.name))
    return tuple(places)
