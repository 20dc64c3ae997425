"""The line that sets DistributedDataParallel.require_backward_grad_sync by hand: no_sync() is not all that holds back.

Where the program switches it on under a condition alone, this is never true at a backward, and is told.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.functions.source import called_name
from gradscope.model.site import Site, user_frames
from gradscope.ranks.gradients.held_back import computed_at
from gradscope.ranks.source.syntax import Function, at_line, function_around, nodes_in, nodes_of, tree_of
from gradscope.store.reader import Recording

BY_HAND = "require_backward_grad_sync"


def set_by_hand(recording: Recording) -> Site | None:
    """The one line that computes the switch, else the condition under which it is on, else that switches it off: in the
    functions around the backward calls and in what these call. None where several may."""
    found = [(one, site) for one, site in _assigned(recording) if not _is(one.value, True)]
    computed = [one for one in found if not isinstance(one[0].value, ast.Constant)]
    off = [one for one in found if _is(one[0].value, False)]
    if len(computed) > 1 or len(off) > 1 or not found:
        return None
    if computed:
        (assign, site), *_ = computed
        function = function_around(tree_of(recording, site), site.line) or tree_of(recording, site)
        return at_line(recording, site, computed_at(function, [assign.value]))
    on = set(_conditions(recording))
    return on.pop() if len(on) == 1 else off[0][1]


def _is(value: ast.expr, wanted: bool) -> bool:
    return isinstance(value, ast.Constant) and value.value is wanted


def _assigned(recording: Recording) -> Iterator[tuple[ast.Assign, Site]]:
    """The assignments to the switch that run with backward calls, as far as the functions tell."""
    ran = _near_backwards(recording)
    for file in sorted(recording.sources()):
        tree = tree_of(recording, Site(file, 1))
        for node in nodes_of(tree):
            if isinstance(node, ast.Assign) and any(_is_the_switch(one) for one in node.targets):
                function = function_around(tree, node.lineno)
                name = "<module>" if function is None else function.name
                if name in ran:
                    yield node, at_line(recording, Site(file, node.lineno, name), node.lineno)


def _is_the_switch(target: ast.expr) -> bool:
    return isinstance(target, ast.Attribute) and target.attr == BY_HAND


def _conditions(recording: Recording) -> Iterator[Site]:
    """The innermost condition around each line that switches it on."""
    for assign, site in _assigned(recording):
        nodes = nodes_of(tree_of(recording, site)) if _is(assign.value, True) else ()
        around = [one for one in nodes if isinstance(one, ast.If) and one.lineno < site.line <= (one.end_lineno or 0)]
        if around:
            yield at_line(recording, site, around[-1].lineno)


def _near_backwards(recording: Recording) -> set[str]:
    """The names of the functions around backward calls, and of what these call."""
    frames = {site for call in recording.backwards() for site in user_frames(call.stack)}
    found = {site.function for site in frames}
    for file, name in {(site.file, site.function) for site in frames}:
        for node in nodes_of(tree_of(recording, Site(file, 1))):
            if isinstance(node, Function | ast.Module) and getattr(node, "name", "<module>") == name:
                found |= {called_name(one) or "" for one in nodes_in(node) if isinstance(one, ast.Call)}
    return found
