"""Orders that each rank draws by a generator of its own seed, and of which it then takes its part by its number."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from gradscope.functions.source import called_name
from gradscope.model.site import Site
from gradscope.ranks.data.drawn_splits import Drawn, comes_of, held_as
from gradscope.ranks.source.attributes import calls_of, class_around
from gradscope.ranks.source.callers import ways_to
from gradscope.ranks.source.deciding import asks_for_rank, origin
from gradscope.ranks.source.given import Frame, bound_in
from gradscope.ranks.source.syntax import at_line, function_around, nodes_of, tree_of
from gradscope.store.reader import Recording

_ORDERS = ("permutation", "permuted", "shuffle", "randperm")
_BY = "generator"  # the argument that says by what something is drawn
_SHARED = frozenset(("torch", "np.random", "numpy.random", "random"))  # whose numbers are a whole process's
_MAKES = frozenset(("manual_seed", "default_rng", "Random", "RandomState", "PCG64", "Philox", "SeedSequence"))
_SEEDS = frozenset(("manual_seed", "seed"))
_PARTS = frozenset(("split", "array_split", "tensor_split", "chunk", "view", "reshape", "unflatten"))
_THROUGH = "islice"


@dataclass(frozen=True, slots=True)
class OwnOrder:
    """The line that draws an order, and the one that gives its generator the rank's seed."""

    draws: Site
    seeded: Site


def own_order(recording: Recording) -> OwnOrder | None:
    """The first order whose generator is seeded by the rank, as all ways to it tell, and of which a rank takes its part
    by its number; not of what goes back to the rank itself."""
    for file, tree, call in calls_of(recording, *_ORDERS):
        function, generator = function_around(tree, call.lineno), _generator(call)
        if generator is None or not call.args:
            continue
        ways = list(ways_to(recording, file, tree, call.lineno))
        seeds = [_seeded_by_rank(recording, way, generator) for way in ways]
        if None in seeds or any(origin(recording, way, call.args[0], asks_for_rank) for way in ways):
            continue
        name = function.name if function is not None else "<module>"
        held = held_as(function or tree, call) or ""
        site = at_line(recording, Site(file, call.lineno, name), call.lineno)
        if _is_parted(recording, Drawn(site, call, held, tuple(map(tuple, ways)), ())):
            return next((OwnOrder(site, seed) for seed in seeds if seed is not None), None)
    return None


def _generator(call: ast.Call) -> ast.expr | None:
    """The generator by which a call draws; None where that is a whole process's."""
    told = next((one.value for one in call.keywords if one.arg == _BY), None)
    if told is not None or not isinstance(call.func, ast.Attribute):
        return told
    return None if ast.unparse(call.func.value) in _SHARED else call.func.value


def _seeded_by_rank(recording: Recording, frames: list[Frame], generator: ast.expr) -> Site | None:
    """The line that gives a generator its seed, where this goes back to the rank; None where any does not."""
    seeds = list(_seeded_later(frames, generator)) or list(_made_with(recording, frames, generator))
    found = [origin(recording, around, seed, asks_for_rank) for around, seed in seeds]
    if not found or None in found:
        return None
    around, seed = seeds[-1]
    return at_line(recording, around[0].site, seed.lineno)


def _seeded_later(frames: list[Frame], generator: ast.expr) -> Iterator[tuple[list[Frame], ast.expr]]:
    """What a generator is seeded with under the name that it is used by, in its function or class."""
    name, own = ast.unparse(generator), class_around(frames[0])
    place = own.node if own is not None and name.startswith("self.") else frames[0].function
    calls = (node for node in ast.walk(place) if isinstance(node, ast.Call) and called_name(node) in _SEEDS)
    for call in calls:
        if isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value) == name:
            yield from ((frames, one) for one in _given(call))


def _made_with(
    recording: Recording, frames: list[Frame], generator: ast.expr
) -> Iterator[tuple[list[Frame], ast.expr]]:
    """What a generator is made with."""
    around: list[list[Frame]] = []
    seeds: list[ast.expr] = []

    def noted(frames: list[Frame], value: ast.expr) -> ast.expr:
        around[:] = [frames]
        return value

    def makes(value: ast.expr) -> bool:
        calls = (one for one in ast.walk(value) if isinstance(one, ast.Call) and called_name(one) in _MAKES)
        seeds[:] = [seed for one in calls for seed in _given(one)]
        return bool(seeds)

    if origin(recording, frames, generator, makes, noted) is not None:
        yield (around[0] if len(around[0]) > 1 else [*around[0], *frames[1:]]), seeds[0]


def _given(call: ast.Call) -> list[ast.expr]:
    return [*call.args[:1], *(one.value for one in call.keywords if one.arg == "seed")][:1]


def _is_parted(recording: Recording, drawn: Drawn) -> bool:
    """Whether a rank takes its part of what was drawn, by its number."""
    lines = range(getattr(drawn.ways[0][0].function, "lineno", 0), drawn.call.lineno)
    for file in sorted(recording.sources()):
        tree = tree_of(recording, Site(file, 1))
        for node in nodes_of(tree):
            for frames, value in _parted(recording, file, tree, node):
                before = file == drawn.site.file and value.lineno in lines  # what it takes there is not drawn yet
                if not before and comes_of(recording, drawn, frames, value):
                    return True
    return False


def _parted(recording: Recording, file: str, tree: ast.Module, node: ast.AST) -> Iterator[tuple[list[Frame], ast.expr]]:
    """What a node takes the part of a rank of, by each way to it: where the part begins goes back to the number."""
    value, begins = _part(node)
    if value is None or begins is None:
        return
    for frames in ways_to(recording, file, tree, value.lineno):
        by_rank = asks_for_rank(begins) or origin(recording, frames, begins, asks_for_rank) is not None
        if by_rank and (_is_slice(node) or _makes_parts(frames, value)):
            yield frames, value


def _part(node: ast.AST) -> tuple[ast.expr | None, ast.expr | None]:
    """What a node takes a part of, and where that begins, or which one of several it is."""
    if isinstance(node, ast.Subscript):
        return node.value, node.slice.lower if isinstance(node.slice, ast.Slice) else node.slice
    if isinstance(node, ast.Call) and called_name(node) == _THROUGH and len(node.args) > 2:
        return node.args[0], node.args[1]
    if isinstance(node, ast.comprehension) and node.ifs:
        return node.iter, node.ifs[0]
    return None, None


def _is_slice(node: ast.AST) -> bool:
    return not isinstance(node, ast.Subscript) or isinstance(node.slice, ast.Slice)


def _makes_parts(frames: list[Frame], value: ast.expr) -> bool:
    """Whether a value is several parts, of which a number takes one."""
    bound = bound_in(frames[0], value.id, value.lineno) if isinstance(value, ast.Name) else None
    made = value if bound is None else bound[1]
    return isinstance(made, ast.Call) and called_name(made) in _PARTS
