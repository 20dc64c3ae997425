"""GS228, met at run time: a custom Function that hands tensors over on its class."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.evidence import source_lines
from gradscope.explain.evidence.case import Case
from gradscope.functions.source import last_name
from gradscope.model.finding import Related
from gradscope.model.graph import Backward, FunctionClass

_PLAIN = (
    "shape",
    "dtype",
    "device",
    "ndim",
    "requires_grad",
    "size",
    "dim",
    "numel",
    "stride",
    "len",
    "type",
    "isinstance",
)


def state_on_class(case: Case) -> Iterator[Cause]:
    """A Function whose forward stores tensors on its class for its backward, run more than once before a backward."""
    for function in case.functions():
        owner = source_lines.class_at(case, function.class_site)
        stored = None if owner is None else _stored(owner, _tensors(case, function, owner))
        found = None if stored is None else next(_met(case, function), None)
        if stored is not None and found is not None and function.class_site is not None:
            call, times = found
            yield Cause(
                f"{function.bare_name} keeps `{ast.unparse(stored)}` on its class: it ran {times} times before "
                f"backward {call.number}, which finds the tensors of the last one in each",
                source_lines.line(case, function.class_site.file, stored.lineno, "forward"),
                (Related("class_at", function.class_site, function.name), Related("fails_at", call.site)),
                tensor=ast.unparse(stored),
                backward=call.number,
                function=function.name,
            )


def _tensors(case: Case, function: FunctionClass, owner: ast.ClassDef) -> set[str]:
    """The names of forward's parameters that were tensors."""
    forward = source_lines.method(owner, "forward")
    calls = case.function_calls().get(function.name, ())
    names = [] if forward is None else [one.arg for one in forward.args.args]
    names = names if source_lines.method(owner, "setup_context") else names[1:]
    pairs = (pair for call in calls for pair in zip(names, call.arguments, strict=False))
    return {name for name, argument in pairs if argument.dtype is not None}


def _stored(owner: ast.ClassDef, tensors: set[str]) -> ast.Attribute | None:
    """The attribute of the class to which forward gives tensors, and which backward reads."""
    forward, backward = source_lines.method(owner, "forward"), source_lines.method(owner, "backward")
    known = set(tensors)
    for node in ast.walk(forward) if forward is not None and backward is not None else ():
        if isinstance(node, ast.Assign) and _holds(node.value, known):
            known |= {one.id for target in node.targets for one in _names(target) if isinstance(one.ctx, ast.Store)}
            for target in node.targets:
                if isinstance(target, ast.Attribute) and _is_of(target, owner) and _reads(backward, target.attr, owner):
                    return target
    return None


def _holds(value: ast.AST, tensors: set[str]) -> bool:
    """Whether an expression gives a tensor or what is made of one, not its shape or the like."""
    if isinstance(value, ast.Name):
        return value.id in tensors
    if isinstance(value, ast.Attribute) and value.attr in _PLAIN:
        return False
    if isinstance(value, ast.Call) and last_name(value.func) in _PLAIN:
        return False
    return any(_holds(child, tensors) for child in ast.iter_child_nodes(value))


def _names(node: ast.AST) -> Iterator[ast.Name]:
    return (one for one in ast.walk(node) if isinstance(one, ast.Name))


def _is_of(node: ast.AST, owner: ast.ClassDef) -> bool:
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in (owner.name, "cls")


def _reads(method: ast.AST | None, name: str, owner: ast.ClassDef) -> bool:
    reading = (one for one in ast.walk(method) if _is_of(one, owner)) if method is not None else ()
    return any(isinstance(one, ast.Attribute) and one.attr == name for one in reading)


def _met(case: Case, function: FunctionClass) -> Iterator[tuple[Backward, int]]:
    """The backward calls whose graph has several nodes of a Function, and how many."""
    for call in case.backwards():
        if call.number in case.graph_sizes():
            times = sum(node.function == function for node in case.graph(call.number).nodes)
            if times > 1:
                yield call, times
