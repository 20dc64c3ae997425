"""Splits by random numbers of a whole process that the source shows: numpy's, Python's own, and torch's."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from gradscope.functions.source import called_name
from gradscope.model.site import Site
from gradscope.ranks.source.attributes import calls_of
from gradscope.ranks.source.callers import ways_to
from gradscope.ranks.source.deciding import asks_for_rank, origin
from gradscope.ranks.source.given import Frame
from gradscope.ranks.source.syntax import Function, at_line, function_around, nodes_of, tree_of
from gradscope.store.reader import Recording

_DRAWS = ("permutation", "shuffle", "randperm", "rand", "random")
_SPLITS = "random_split"
_PLACES = 2  # arguments before the generator
_SAMPLER = "DistributedSampler"
_TORCH = ("torch", "torch.random", "torch.cuda")
_SOURCES = (("np.random", "numpy.random"), ("random",), _TORCH)  # of numbers that a whole process shares


@dataclass(frozen=True, slots=True)
class Drawn:
    """What splits, where it is drawn, the ways to that line, and whose numbers it takes."""

    site: Site
    call: ast.Call
    name: str
    ways: tuple[tuple[Frame, ...], ...]
    of: tuple[str, ...]


def drawn_splits(recording: Recording) -> Iterator[Drawn]:
    """Each split by one process's own numbers whose parts the ranks share: a permutation that is cut in two, a mask."""
    for file, tree, call in calls_of(recording, *_DRAWS, _SPLITS):
        function, of = function_around(tree, call.lineno), _numbers_of(call)
        name = None if function is None else held_as(function, call)
        if of is None or function is None or not (called_name(call) == _SPLITS or (name and _is_cut(function, name))):
            continue
        ways = tuple(tuple(way) for way in ways_to(recording, file, tree, call.lineno) if _is_begun(way))
        site = at_line(recording, Site(file, call.lineno, function.name), call.lineno)
        found = Drawn(site, call, name or "", ways, of)
        if ways and is_shared(recording, found):
            yield found


def _numbers_of(call: ast.Call) -> tuple[str, ...] | None:
    """The modules whose numbers a call takes; None of a generator, which may be seeded alike."""
    if len(call.args) > _PLACES or any(one.arg in ("generator", None) for one in call.keywords):
        return None
    if called_name(call) == _SPLITS:
        return _TORCH
    return next((each for each in _SOURCES if ast.unparse(call.func).rpartition(".")[0] in each), None)


def held_as(function: Function | ast.Module, call: ast.Call) -> str | None:
    """The variable that holds a permutation: what it is assigned to, or what is shuffled in place."""
    if called_name(call) == "shuffle":
        return call.args[0].id if call.args and isinstance(call.args[0], ast.Name) else None
    assigned = (node for node in ast.walk(function) if isinstance(node, ast.Assign) and call in ast.walk(node.value))
    return next((one.id for node in assigned for one in node.targets if isinstance(one, ast.Name)), None)


def _is_cut(function: Function, name: str) -> bool:
    """Whether what is before a place is taken from a variable, and what is behind that one; or what it masks, and the
    rest."""
    nodes = [node for node in ast.walk(function) if isinstance(node, ast.Subscript)]
    places = {ast.unparse(node.slice) for node in nodes}
    parts = [node.slice for node in nodes if isinstance(node.value, ast.Name) and node.value.id == name]
    slices = [one for one in parts if isinstance(one, ast.Slice) and one.step is None]
    ends = {ast.unparse(one.upper) for one in slices if one.upper is not None and one.lower is None}
    is_cut = any(one.lower is not None and ast.unparse(one.lower) in ends for one in slices)
    return is_cut or {name, f"~{name}"} <= places


def _is_begun(way: list[Frame]) -> bool:
    """Whether a way begins in a file itself, outside of functions."""
    return isinstance(way[-1].function, ast.Module)


def is_shared(recording: Recording, drawn: Drawn) -> bool:
    """Whether a rank takes its part of what comes of a permutation, by its number or by a sampler."""
    return any(
        comes_of(recording, drawn, frames, value)
        for file, tree, value in chain(_taken_by_rank(recording), _sampled(recording))
        for frames in ways_to(recording, file, tree, value.lineno)
    )


def comes_of(recording: Recording, drawn: Drawn, frames: list[Frame], value: ast.expr) -> bool:
    """Whether a value, under the functions that lead to it, comes of what was drawn."""
    within: list[Frame] = []

    def noted(frames: list[Frame], value: ast.expr) -> ast.expr:
        within[:] = frames
        return value

    def is_drawn(value: ast.expr) -> bool:
        if within[0].site.file != drawn.site.file or drawn.call.lineno not in _lines(within[0]):
            return False
        nodes = list(ast.walk(value))
        return drawn.call in nodes or any(isinstance(one, ast.Name) and one.id == drawn.name for one in nodes)

    return origin(recording, frames, value, is_drawn, noted) is not None


def _lines(frame: Frame) -> range:
    function = frame.function
    if isinstance(function, ast.Module):  # has no lines of its own
        return range(max((one.end_lineno or 0 for one in function.body), default=0) + 1)
    return range(getattr(function, "lineno", 0), (getattr(function, "end_lineno", 0) or 0) + 1)


def _taken_by_rank(recording: Recording) -> Iterator[tuple[str, ast.Module, ast.expr]]:
    """What a part is taken of that the rank says: `rows` of `rows[rank::world]`."""
    for file in sorted(recording.sources()):
        tree = tree_of(recording, Site(file, 1))
        for node in nodes_of(tree):
            if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice) and asks_for_rank(node.slice):
                yield file, tree, node.value


def _sampled(recording: Recording) -> Iterator[tuple[str, ast.Module, ast.expr]]:
    for file, tree, call in calls_of(recording, _SAMPLER):
        yield from ((file, tree, one) for one in call.args[:1])
