"""The line that reads a layer's sibling a second time where it should have read the layer: a slip of copying."""

from __future__ import annotations

import ast
from typing import TypeGuard

from gradscope.explain.deductions.lines.graph_cuts import born
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import dataflow
from gradscope.explain.evidence.source_lines import class_around
from gradscope.explain.evidence.syntax import syntax
from gradscope.model.site import Site

_OWN = 3  # parts of a name that a module of the same class has, too


def sibling_read_twice(case: Case, parameter: str, declared: Site | None) -> Site | None:
    """Where the one sibling of an unread layer is used again; None where that is not the only way to read it.

    Siblings are built by the same expression in the same class, where nothing reads the layer itself.
    """
    layer = parameter.rpartition(".")[0].rpartition(".")[2]
    owner = None if declared is None else class_around(case, declared)
    if declared is None or owner is None or not layer or _reads(owner, layer):
        return None
    built = _built(owner)
    alike = [name for name, text in built.items() if name != layer and text == built.get(layer)]
    twice = [reads for reads in (_reads(owner, name) for name in alike) if len(reads) > 1]
    calls = {id(one.func) for one in ast.walk(owner) if isinstance(one, ast.Call)}  # two on a line are two layers
    plain = [read.lineno for reads in twice for read in reads if id(read) not in calls]
    if len(twice) != 1 or len({*plain}) != len(plain):
        return None
    return syntax(case).site(declared.file, twice[0][-1].lineno)


def _built(owner: ast.ClassDef) -> dict[str, str]:
    """The attributes that methods of a class assign to self, each with the expression."""
    found = {}
    for node in ast.walk(owner):
        if isinstance(node, ast.Assign):
            found.update({one.attr: ast.unparse(node.value) for one in node.targets if _is_of_self(one)})
    return found


def _reads(owner: ast.ClassDef, name: str) -> list[ast.Attribute]:
    """Where methods of a class read an attribute of self, in order."""
    found = [node for node in ast.walk(owner) if _is_of_self(node) and isinstance(node.ctx, ast.Load)]
    return sorted((node for node in found if node.attr == name), key=lambda node: (node.lineno, node.col_offset))


def _is_of_self(node: ast.AST) -> TypeGuard[ast.Attribute]:
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"


def read_in_another(case: Case, parameter: str, declared: Site | None) -> bool:
    """Whether the same line made a parameter of that name in another module, where it is read.

    `encoder.0.norms.1.weight` is at rest where a class serves an encoder as well as a decoder.
    """
    own = parameter.split(".")[-_OWN:]
    flow = dataflow(case)
    others = (one for one in flow.tensors.values() if one.parameter and one.leaf not in (None, parameter))
    alike = (one for one in others if (one.leaf or "").split(".")[-_OWN:] == own and len(own) == _OWN)
    return declared is not None and any(
        flow.is_used(one.number) and born(case, one.number) == declared for one in alike
    )
