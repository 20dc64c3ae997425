"""The line by which a program gives parameters the gradients that it took by torch.autograd.grad()."""

from __future__ import annotations

import ast

from gradscope.model.site import Site
from gradscope.ranks.source.syntax import at_line, function_around, statements, tree_of
from gradscope.store.reader import Recording

_GRADIENT = "grad"


def given_at(recording: Recording, derived: Site) -> Site:
    """The only line that fills a `.grad` in the function that takes the derivatives, else the only one anywhere; where
    several do, or none, the one that takes the derivatives."""
    around = function_around(tree_of(recording, derived), derived.line)
    found = [
        (function_around(tree_of(recording, Site(file, 1)), node.lineno), Site(file, node.lineno))
        for file in sorted(recording.sources())
        for node in statements(recording, Site(file, 1))
        if _fills(node)
    ]
    found = [one for one in found if one[0] is around] or found
    if len(found) != 1:
        return derived
    function, site = found[0]
    name = "<module>" if function is None else function.name
    return at_line(recording, Site(site.file, site.line, name), site.line)


def _fills(node: ast.stmt) -> bool:
    """`parameter.grad = gradient`, and not `parameter.grad = None`."""
    if not isinstance(node, ast.Assign) or (isinstance(node.value, ast.Constant) and node.value.value is None):
        return False
    return any(isinstance(target, ast.Attribute) and target.attr == _GRADIENT for target in node.targets)
