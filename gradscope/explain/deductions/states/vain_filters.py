"""A filter of the parameters for an optimizer that takes out nothing: what it looks for is made anew, and is none.

`p not in {model.scale.value}` compares tensors by what they are, not by their values. What a property computes, and
what detach() gives, is no parameter, whatever it was made of.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import dataflow
from gradscope.explain.evidence.syntax import syntax
from gradscope.functions.source import called_name, last_name
from gradscope.model.finding import Related, Severity
from gradscope.model.flow import GradientState
from gradscope.model.site import Site

_COPIES = ("detach", "clone")
_GIVEN = ("getattr", "get_parameter", "Parameter")  # calls that may give a parameter itself
_ADVICE = "name the parameter itself, or freeze it: module.requires_grad_(False)"
Names = tuple[str, ...]


def vain_filters(case: Case) -> Iterator[Cause]:
    """Sets of computed tensors that parameters are compared with, where an optimizer steps what those are made of."""
    for file in syntax(case).files:
        for node in syntax(case).nodes(file):
            elements = _compared(case, file, node) if isinstance(node, ast.Compare) else []
            meant = [(one, _meant(case, one)) for one in elements]
            stepped = [_stepped(case, names) if names else None for _, names in meant]
            if stepped and isinstance(node, ast.Compare) and stepped[0] is not None and all(stepped):
                yield _cause(case, Site(file, node.lineno), elements[0], stepped[0])


def _cause(case: Case, filters: Site, element: ast.expr, name: str) -> Cause:
    used = syntax(case).site(filters.file, filters.line)
    related = (Related("used_at", used, "the filter"),) if element.lineno != filters.line else ()
    return Cause(
        f"`{ast.unparse(element)}` is made anew and is no parameter: this takes out nothing, and {name} is trained",
        syntax(case).site(filters.file, element.lineno),
        related,
        certain=False,
        severity=Severity.INFO,
        tensor=name,
        advice=_ADVICE,
    )


def _compared(case: Case, file: str, node: ast.Compare) -> list[ast.expr]:
    """The elements of a set that `parameter not in` asks, written there or given to its name in the function."""
    if len(node.ops) != 1 or not isinstance(node.ops[0], ast.NotIn):
        return []
    asked = node.comparators[0]
    if isinstance(asked, ast.Name):
        around = syntax(case).function(Site(file, node.lineno))
        given = [one for one in ast.walk(around) if isinstance(one, ast.Assign)] if around is not None else []
        values = [one.value for one in given if asked.id in map(last_name, one.targets)]
        asked = values[0] if len(values) == 1 else asked
    if isinstance(asked, ast.Call) and called_name(asked) in ("set", "frozenset") and len(asked.args) == 1:
        listed = asked.args[0]
        return list(listed.elts) if isinstance(listed, ast.List | ast.Tuple | ast.Set) else []
    return list(asked.elts) if isinstance(asked, ast.Set) else []


def _meant(case: Case, element: ast.expr) -> Names:
    """The last names of what an element is made of; none where it may be a parameter."""
    if isinstance(element, ast.Call) and isinstance(element.func, ast.Attribute) and element.func.attr in _COPIES:
        return _path(element.func.value)[-2:]
    if not isinstance(element, ast.Attribute):
        return ()
    if element.attr == "data":
        return _path(element.value)[-2:]
    return _path(element.value)[-1:] if _is_computed(case, element.attr) else ()


def _path(node: ast.expr) -> Names:
    """`("b", "c")` of `a.b.c`: the first name is that of an object."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.insert(0, node.attr)
        node = node.value
    return tuple(names)


def _is_computed(case: Case, name: str) -> bool:
    """Whether all that the program has under a name are properties which compute what they give."""
    nodes = [node for file in syntax(case).files for node in syntax(case).nodes(file)]
    found = [one for one in nodes if isinstance(one, ast.FunctionDef) and one.name == name]
    is_set = any(
        isinstance(one, ast.Attribute) and one.attr == name and isinstance(one.ctx, ast.Store) for one in nodes
    )
    properties = [one for one in found if "property" in map(last_name, one.decorator_list)]
    return bool(found) and len(properties) == len(found) and not is_set and all(map(_computes, found))


def _computes(method: ast.FunctionDef) -> bool:
    given = [one.value for one in ast.walk(method) if isinstance(one, ast.Return)]
    return bool(given) and all(
        isinstance(one, ast.BinOp) or (isinstance(one, ast.Call) and called_name(one) not in _GIVEN) for one in given
    )


def _stepped(case: Case, names: Names) -> str | None:
    """A parameter of such a name that an optimizer steps, where none of them that has a graph is held by no one."""
    looks = [one for look in case.optimizer_looks() for one in look.parameters]
    held = {one.tensor: one.name for one in looks if _has(one.name, names)}
    trained = {one.tensor for one in looks if one.state is GradientState.VALUES}
    known = {one.number for one in dataflow(case).tensors.values() if one.parameter and _has(one.leaf or "", names)}
    found = [held[one] for one in held if one in trained]
    return found[0] if found and known <= held.keys() else None


def _has(leaf: str, names: Names) -> bool:
    """Whether the path of a leaf has these names in a row."""
    parts = tuple(leaf.split("."))
    return any(parts[at : at + len(names)] == names for at in range(len(parts)))
