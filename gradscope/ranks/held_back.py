"""The condition under which no_sync() is entered: it decides for which backward gradients are not averaged."""

from __future__ import annotations

import ast

from gradscope.model.site import Site
from gradscope.ranks.syntax import at_line, function_around, tree_of
from gradscope.store.reader import Recording


def decides(recording: Recording, site: Site) -> Site:
    """The innermost condition around the name no_sync in the function of a line that enters it, else the line."""
    tree = tree_of(recording, site)
    function = function_around(tree, site.line) or tree
    named = [node for node in ast.walk(function) if isinstance(node, ast.Attribute) and node.attr == "no_sync"]
    lines = {node.lineno for node in named}
    line = site.line if site.line in lines else next(iter(lines)) if len(lines) == 1 else None
    around = [
        node.lineno
        for node in ast.walk(function)
        if isinstance(node, ast.If) and line is not None and node.lineno < line <= (node.end_lineno or 0)
    ]
    return at_line(recording, site, max(around)) if around else site
