"""Where a program thaws a parameter that was frozen when DistributedDataParallel was made, and for a while after."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.functions.source import called_name
from gradscope.model.site import Site
from gradscope.model.training import LEARN, TrainingCall
from gradscope.ranks.source.attributes import calls_of
from gradscope.ranks.source.callers import ways_to
from gradscope.ranks.source.syntax import Function, at_line, function_around, nodes_of, tree_of
from gradscope.store.reader import Recording

Flagging = ast.Assign | ast.Call
Place = tuple[str, ast.Module, int]  # a file, and a line of it
_FLAG, _SETTER = "requires_grad", "requires_grad_"


def thawed_at(recording: Recording, leaf: str, wrapped: Site | None) -> Site | None:
    """The last line that made a module learn before a backward first came to a parameter of it, where others had come
    to other parameters before; where no module was told to, the only line of the source that may thaw anything. Of one
    in a helper, the line of the wrap's function that calls this: the wrapper is at hand there. None where it was thawed
    before all: the wrap is only too early then."""
    names = {one.number: one.leaf for one in recording.flow_tensors()}
    looks = {one.backward for one in recording.leaf_gradients()}
    reached = [one.backward for one in recording.leaf_gradients() if names.get(one.tensor) == leaf]
    before = [look for look in looks if reached and look < min(reached)]
    if not before:
        return None
    calls = list(_thaws(recording, max(before), min(reached)))
    own = [call for call in calls if leaf.startswith(f"{call.module}.")]
    if own:
        beside = (site for site in own[-1].stack if wrapped is not None and site.is_in_function_of(wrapped))
        return next(beside, own[-1].site)
    sites = {str(call.site): call.site for call in calls} if calls else _written(recording)
    only = next(iter(sites.values())) if len(sites) == 1 else None
    return only if only is None or wrapped is None or calls else _called_beside(recording, only, wrapped)


def _called_beside(recording: Recording, site: Site, wrapped: Site) -> Site:
    """The only line of the wrap's function by which the source comes to a line, else that line itself."""
    ways = ways_to(recording, site.file, tree_of(recording, site), site.line)
    calls = [frame.site for way in ways for frame in way[1:] if frame.site.is_in_function_of(wrapped)]
    found = {str(one): at_line(recording, one, one.line) for one in calls}
    return next(iter(found.values())) if len(found) == 1 else site


def _thaws(recording: Recording, after: int, until: int) -> Iterator[TrainingCall]:
    """The calls between two backward calls that made parameters of a module learn."""
    for interval in recording.intervals():
        if interval.backward is not None and after < interval.backward <= until:
            yield from (call for call in interval.calls if call.kind is LEARN and call.count)


def _written(recording: Recording) -> dict[str, Site | None]:
    """The lines of the source that may thaw: those that hand True to a function of the program's, where this sets the
    flag by what it is given, else those that set it to anything but False."""
    found: dict[str, Site | None] = {}
    for file in sorted(recording.sources()):
        tree = tree_of(recording, Site(file, 1))
        for node, value in _flags(nodes_of(tree)):
            says = [] if _is_false(value) else _handed(recording, tree, node, value) or [(file, tree, node.lineno)]
            for at, of, line in says:
                around = function_around(of, line)
                site = at_line(recording, Site(at, line, "<module>" if around is None else around.name), line)
                found[str(site)] = site
    return found


def _handed(recording: Recording, tree: ast.Module, node: Flagging, value: ast.expr) -> list[Place]:
    """The calls of the function around that hand True to it, where the value is one that it is given."""
    function = function_around(tree, node.lineno)
    if function is None or not isinstance(value, ast.Name) or value.id not in _parameters(function):
        return []
    calls = calls_of(recording, function.name)
    return [(file, of, call.lineno) for file, of, call in calls if any(map(_is_true, _given(call)))]


def _flags(nodes: tuple[ast.AST, ...]) -> Iterator[tuple[Flagging, ast.expr]]:
    """What sets requires_grad, and the value: that of a call without one is True."""
    for node in nodes:
        if isinstance(node, ast.Assign):
            yield from (
                (node, node.value) for one in node.targets if isinstance(one, ast.Attribute) and one.attr == _FLAG
            )
        elif isinstance(node, ast.Call) and called_name(node) == _SETTER:
            yield node, next(iter(_given(node)), ast.Constant(True))


def _given(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(keyword.value for keyword in call.keywords)]


def _is_true(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is True


def _is_false(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is False


def _parameters(function: Function) -> set[str]:
    return {one.arg for one in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)}
