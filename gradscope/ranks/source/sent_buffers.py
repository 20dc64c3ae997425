"""Whether a program exchanges buffers itself once in a while, as by an average of running statistics behind each epoch,
or a sum of what each rank has counted since the last.

The looks come while a model trains, and so they may never see such buffers equal.
"""

from __future__ import annotations

import ast
from collections.abc import Collection

from gradscope.model.site import Site
from gradscope.ranks.source.attributes import calls_of
from gradscope.ranks.source.given import Frame, bound_in, sent_by
from gradscope.ranks.source.sending import sent_outside
from gradscope.ranks.source.syntax import function_around, tree_of
from gradscope.store.reader import Recording

_BUFFERS = frozenset(("buffers", "named_buffers", "running_mean", "running_var"))


def sends_buffers(recording: Recording, buffers: Collection[str]) -> bool:
    """Whether a function that speaks of buffers, or that is given one of some by name, has met others after the first
    backward call."""
    own = {one.rpartition(".")[2] for one in buffers}
    sites = {one.site for backward, one in sent_outside(recording) if backward and one.site is not None}
    return any(_speaks_of_buffers(recording, site) or _sends_one(recording, site, own) for site in sites)


def _speaks_of_buffers(recording: Recording, site: Site) -> bool:
    function = function_around(tree_of(recording, site), site.line)
    return function is not None and any(_names_one(node, _BUFFERS) for node in ast.walk(function))


def _sends_one(recording: Recording, site: Site, names: Collection[str]) -> bool:
    """Whether a line sends what has such a name, or a copy, by itself or as an argument of the function around it."""
    tree = tree_of(recording, site)
    function = function_around(tree, site.line)
    frame = Frame(site, tree, function or tree)
    value = sent_by(frame)
    bound = bound_in(frame, value.id, site.line) if isinstance(value, ast.Name) else None
    given = [value, None if bound is None else bound[1]]
    if function is not None:
        given += [one for _, _, call in calls_of(recording, function.name) for one in call.args]
    return any(_names_one(node, names) for one in given if one is not None for node in ast.walk(one))


def _names_one(node: ast.AST, names: Collection[str]) -> bool:
    if isinstance(node, ast.Constant):
        return node.value in names
    return (isinstance(node, ast.Attribute) and node.attr in names) or (isinstance(node, ast.Name) and node.id in names)
