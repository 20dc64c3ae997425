"""What a generator leaves out for one rank and not for another, told by how often its lines ran in each trip of a loop.

A loop that goes through what is yielded has fewer trips where data are few as well: only where the generator took more
than it gave, and on one rank more so, a condition in it is what parted them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.functions.source import called_name
from gradscope.model.operation import Operation
from gradscope.model.site import Site, user_frames
from gradscope.ranks.source.skipped_trips import own_nodes
from gradscope.ranks.source.syntax import Function, at_line, function_around, nodes_of, tree_of
from gradscope.store.reader import Recording

_OF_EXPRESSION = "<genexpr>"
_FILTER = "filter"  # a function that is called so
_Key = tuple[str, tuple[str, ...]]  # an operator, and the lines from the loop inward


def yielded_less(less: Recording, more: Recording, loop: Site) -> Site | None:
    """The condition by which what a loop goes through leaves out more on the one rank than on the other."""
    taken, others = _taken(less, loop), _taken(more, loop)
    for place, counts in taken.items():
        key, first = next(iter(counts.items()))
        left_out = first - len(less.backwards())
        if left_out > 0 and left_out > max(0, others.get(place, {}).get(key, 0) - len(more.backwards())):
            found = set(_conditions(less, place))
            if len(found) == 1:
                return at_line(less, place, found.pop())
    return None


def _taken(recording: Recording, loop: Site) -> dict[Site, dict[_Key, int]]:
    """By the place beneath a loop's head: how often each operator ran below it, the first one first."""
    found: dict[tuple[str, str], tuple[Site, dict[_Key, int]]] = {}
    for block in recording.blocks():
        for one in block.operations if block.backward is None else ():
            inward = list(_inward(one, loop))
            if inward:
                _, counts = found.setdefault((inward[0].file, inward[0].function), (inward[0], {}))
                key = one.name, tuple(map(str, inward))
                counts[key] = counts.get(key, 0) + 1
    return dict(found.values())


def _inward(one: Operation, loop: Site) -> Iterator[Site]:
    """The frames below a loop's head, from outside in; none of what its body ran."""
    frames = user_frames(one.stack)[::-1]
    at = next((at for at, site in enumerate(frames) if str(site) == str(loop)), len(frames))
    return iter(frames[at + 1 :])


def _conditions(recording: Recording, place: Site) -> Iterator[int]:
    """The lines of the conditions by which a generator leaves something out, in the function of a place."""
    tree = tree_of(recording, place)
    if place.function.endswith(_OF_EXPRESSION):
        for node in nodes_of(tree):
            if isinstance(node, ast.GeneratorExp) and node.lineno <= place.line <= (node.end_lineno or 0):
                yield from (test.lineno for one in node.generators for test in one.ifs)
        return
    function = function_around(tree, place.line)
    if function is None:
        return
    if any(isinstance(node, ast.Yield) for node in own_nodes(function)):
        yield from (node.lineno for node in own_nodes(function) if isinstance(node, ast.If) and _leaves_out(node))
    else:
        yield from _filtered_by(tree, function)


def _leaves_out(node: ast.If) -> bool:
    """Whether something is only yielded under a condition, or passed over."""
    arms = (one for arm in (node.body, node.orelse) for each in arm for one in ast.walk(each))
    return any(isinstance(one, ast.Yield | ast.Continue) for one in arms)


def _filtered_by(tree: ast.Module, function: Function) -> Iterator[int]:
    """The lines that filter something by a function."""
    calls = (
        node for node in nodes_of(tree) if isinstance(node, ast.Call) and called_name(node) == _FILTER and node.args
    )
    for call in calls:
        if ast.unparse(call.args[0]).rpartition(".")[2] == function.name:
            yield call.lineno
