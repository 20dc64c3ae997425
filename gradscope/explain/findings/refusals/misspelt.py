"""GS816: requires_grad misspelt: Python takes any attribute of a tensor or a module, and nothing comes of it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.source_names import parameters_by_looks
from gradscope.explain.evidence.syntax import syntax
from gradscope.functions.source import last_name

_MISSPELT = ("require_grad", "requires_grads", "require_grads", "required_grad", "requires_gradient", "requiers_grad")


def misspelt_attribute(case: Case) -> Iterator[Cause]:
    """What it flags: an attribute is set whose name is nearly requires_grad.

    Why: a tensor takes any attribute, says nothing, and trains on as before. What was to be frozen is not.

    Wrong:
        for parameter in model.features.parameters():
            parameter.require_grad = False

    Right:
        for parameter in model.features.parameters():
            parameter.requires_grad = False

    Do instead: write requires_grad, or call requires_grad_(False) of the module: a method that is misspelt raises.

    How it is found: in the source, of what is a tensor by its looks: the variable of a loop over parameters, a weight,
    a bias. Nothing ever reads an attribute of that name.
    """
    tensors = {file: parameters_by_looks(syntax(case).nodes(file)) for file in syntax(case).files}
    nodes = [(file, node) for file in tensors for node in syntax(case).nodes(file)]
    attributes = [(file, node) for file, node in nodes if isinstance(node, ast.Attribute) and node.attr in _MISSPELT]
    read = {node.attr for _, node in attributes if isinstance(node.ctx, ast.Load)}
    for file, node in attributes:
        is_tensor = last_name(node.value) in tensors[file]
        if is_tensor and isinstance(node.ctx, ast.Store) and node.attr not in read:
            message = f"this changes nothing: tensors know `requires_grad`, and nothing reads `{node.attr}`"
            yield Cause(message, syntax(case).site(file, node.lineno), certain=False)
