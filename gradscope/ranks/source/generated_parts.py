"""How many trips a loop has that goes through what a function of the program's yields: by the loop in that function, or
the number by which this goes; else by the list that is made beside the loop."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, replace

from gradscope.functions.source import called_name, names_in
from gradscope.model.site import Site
from gradscope.ranks.source.attributes import class_of
from gradscope.ranks.source.given import Frame, passed_to
from gradscope.ranks.source.skipped_trips import own_nodes
from gradscope.ranks.source.syntax import Function, at_line, nodes_of, tree_of
from gradscope.store.reader import Recording

_THROUGH = frozenset(("enumerate", "iter", "list", "tuple", "reversed", "tqdm"))
_LISTS = frozenset(("list", "tuple", "split", "chunk", "tensor_split", "array_split", "unbind"))
_RANGES = frozenset(("range", "arange", "islice"))
_SIZES = frozenset(("shape", "size", "numel"))
_WAYS_OUT = (ast.Break, ast.Continue, ast.Return)
_DEEPEST = 4  # generators in generators
_LONGEST = 8  # names on the way to what makes a value

Known = Callable[[list[Frame], ast.expr], Site | None]


@dataclass(frozen=True, slots=True)
class _Trips:
    """What decides how many trips a loop of a function has: what it goes through, or its condition."""

    frames: list[Frame]
    decides: ast.expr
    site: Site
    counts: bool = False


@dataclass(frozen=True, slots=True)
class _Made:
    """A value, where it stands, and the line that gives it a name."""

    frames: list[Frame]
    value: ast.expr
    line: int | None = None


def generated_part(recording: Recording, frames: list[Frame], loop: ast.For, known: Known) -> Site | None:
    """The line that decides how many trips a loop of the innermost frame has; `known` tells what it knows of what a
    loop goes through. None where nothing plain does."""
    if any(isinstance(node, _WAYS_OUT) for node in ast.walk(loop)):
        return None
    around = [_at(frames[0], loop.lineno), *frames[1:]]
    trips = inner = _inside(recording, around, loop.iter)
    for _ in range(_DEEPEST):
        if inner is None:
            break
        trips, part = inner, known(inner.frames, inner.decides)
        if part is not None:
            return part
        inner = None if inner.counts else _inside(recording, inner.frames, inner.decides)
    if trips is None:
        return _listed(recording, around, loop.iter)
    if trips.counts:
        return _bounded_at(recording, trips)
    return _listed(recording, trips.frames, trips.decides) or trips.site


def decides_trips(recording: Recording, frames: list[Frame], loop: ast.For) -> tuple[list[Frame], ast.expr, Site]:
    """What decides how many trips a loop of the innermost frame has, and the loop that goes through it: that of the
    function which yields to it, else its own."""
    around = [_at(frames[0], loop.lineno), *frames[1:]]
    inner = _inside(recording, around, loop.iter)
    if inner is None or inner.counts:
        return around, loop.iter, at_line(recording, frames[0].site, loop.lineno)
    return inner.frames, inner.decides, inner.site


def _inside(recording: Recording, frames: list[Frame], through: ast.expr) -> _Trips | None:
    """The one loop of the function that yields what a loop goes through; None where that is not plain."""
    made = _made(frames, through)
    generator = _generator(recording, made)
    if generator is None:
        return None
    site, tree, function = generator
    nodes = list(own_nodes(function))
    loops = [node for node in nodes if isinstance(node, ast.For | ast.While) and any(map(_yields, ast.walk(node)))]
    outside = [node for node in nodes if _yields(node) and not any(node in ast.walk(loop) for loop in loops)]
    if any(isinstance(node, _WAYS_OUT) for node in nodes) or len(loops) + len(outside) != 1:
        return None
    caller = made.frames
    if loops:
        loop = loops[0]
        decides = loop.iter if isinstance(loop, ast.For) else loop.test
        if any(isinstance(one, ast.If) and any(map(_yields, ast.walk(one))) for one in ast.walk(loop)):
            return None  # what it leaves out decides as well
        here = at_line(recording, site, loop.lineno)
        return _Trips([Frame(here, tree, function), *caller], decides, here, counts=_counts(loop))
    if not isinstance(outside[0], ast.YieldFrom):
        return None
    here = at_line(recording, site, outside[0].lineno)
    return _Trips([Frame(here, tree, function), *caller], outside[0].value, here)


def _yields(node: ast.AST) -> bool:
    return isinstance(node, ast.Yield | ast.YieldFrom)


def _counts(loop: ast.For | ast.While) -> bool:
    """Whether a loop goes by a number or a condition, and not through something."""
    if isinstance(loop, ast.While):
        return True
    return any(isinstance(node, ast.Call) and called_name(node) in _RANGES for node in ast.walk(loop.iter))


def _made(frames: list[Frame], value: ast.expr) -> _Made:
    """What a value was made by: by the assignments of names, and what callers give, without what only goes through."""
    line: int | None = None
    for _ in range(_LONGEST):
        if isinstance(value, ast.Call) and called_name(value) in _THROUGH and value.args:
            value = value.args[0]
            continue
        if not isinstance(value, ast.Name) or not frames:
            break
        assigned = _assigned(frames[0], value.id)
        passed = passed_to(frames, 0, value.id) if not assigned else None
        if len(assigned) == 1:
            line, value = assigned[0].lineno, assigned[0].value
        elif passed is not None:
            frames, value, line = frames[1:], passed, None
        else:
            break
    return _Made([_at(frames[0], value.lineno), *frames[1:]] if frames else frames, value, line)


def _assigned(frame: Frame, name: str) -> list[ast.Assign]:
    """The assignments of a name alone in a function."""
    nodes = (node for node in own_nodes(frame.function) if isinstance(node, ast.Assign))
    return [one for one in nodes if any(isinstance(each, ast.Name) and each.id == name for each in one.targets)]


def _generator(recording: Recording, made: _Made) -> tuple[Site, ast.Module, Function] | None:
    """The one function of the program's that yields and is called, or by which one goes through an object."""
    own = None
    if isinstance(made.value, ast.Call):
        called = made.value.func
        own = class_of(recording, made.frames, called.value if isinstance(called, ast.Attribute) else made.value)
    name = called_name(made.value) if isinstance(made.value, ast.Call) else None
    if own is not None and name == own.node.name:
        name = "__iter__"
    found = [
        (Site(file, one.lineno, one.name), tree, one)
        for file in sorted(recording.sources())
        for tree in [tree_of(recording, Site(file, 1))]
        for one in nodes_of(tree if own is None else own.node)
        if isinstance(one, Function) and one.name == name and (own is None or own.file == file)
    ]
    return found[0] if len(found) == 1 and any(map(_yields, own_nodes(found[0][2]))) else None


def _listed(recording: Recording, frames: list[Frame], through: ast.expr) -> Site | None:
    """The line that makes a list of a rank's own in the function of a loop."""
    value = through.args[0] if isinstance(through, ast.Call) and called_name(through) in _THROUGH else through
    assigned = _assigned(frames[0], value.id) if isinstance(value, ast.Name) else []
    if len(assigned) != 1:
        return None
    made = assigned[0].value
    plain = isinstance(made, ast.ListComp) or (isinstance(made, ast.Call) and called_name(made) in _LISTS)
    return at_line(recording, frames[0].site, assigned[0].lineno) if plain else None


def _bounded_at(recording: Recording, trips: _Trips) -> Site | None:
    """The line that measures how far a loop goes, else its own; None where the caller says so, or a constant does,
    which all ranks have."""
    frame = trips.frames[0]
    names = names_in(trips.decides)
    bound = {name: _assigned(frame, name) for name in names}
    own = any(isinstance(one, ast.Attribute) for one in ast.walk(trips.decides)) or any(bound.values())
    if not own:
        return None
    measured = [one for name in sorted(names) for one in bound[name] if any(map(_is_a_size, ast.walk(one.value)))]
    once = len(measured) == 1 and isinstance(trips.decides, ast.Call)
    return at_line(recording, frame.site, measured[0].lineno) if once else trips.site


def _is_a_size(node: ast.AST) -> bool:
    counted = isinstance(node, ast.Call) and called_name(node) == "len"
    return counted or (isinstance(node, ast.Attribute) and node.attr in _SIZES)


def _at(frame: Frame, line: int) -> Frame:
    return replace(frame, site=replace(frame.site, line=line))
