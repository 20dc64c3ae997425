"""What each rank has drawn for itself, where it takes its part by its number: how long a list became by a draw."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.functions.source import called_name, names_in
from gradscope.model.site import Site
from gradscope.ranks.source.attributes import calls_of
from gradscope.ranks.source.callers import ways_to
from gradscope.ranks.source.deciding import asks_for_rank
from gradscope.ranks.source.given import SEEDS
from gradscope.ranks.source.packed_parts import filled_by_size
from gradscope.ranks.source.seeds import Seed, last_before, named_for_rank, seeds_of_torch
from gradscope.ranks.source.syntax import Function, at_line, function_around, nodes_in, tree_of
from gradscope.store.reader import Recording

_DRAWS = frozenset(("randperm", "rand", "randint", "permutation", "shuffle", "random", "sample", "choice"))
_TORCH = frozenset(("torch",))
_SOURCES = (_TORCH, frozenset(("np.random", "numpy.random")), frozenset(("random",)))  # which a process shares
_GENERATOR = "generator"
_SHUFFLES = "shuffle"


def drawn_for_part(recording: Recording, part: Site) -> Site | None:
    """The line that draws what a list is filled by of which another line takes the part of a rank: its length is that
    which a rank has drawn by numbers that its own seed gives, or none. None where no one line is known to."""
    tree = tree_of(recording, part)
    function = function_around(tree, part.line)
    lists = set() if function is None else _parted(function, part.line)
    if function is None or not lists:
        return None
    draws = [(one, of) for one in nodes_in(function) if isinstance(one, ast.Call) and (of := _numbers_of(one))]
    above = [(one, of) for one, of in draws if one.lineno < part.line and lists & _filled_by(function, one)]
    if len(above) != 1 or not _is_by_rank(recording, part.file, tree, *above[0]):
        return None
    return at_line(recording, part, above[0][0].lineno)


def _parted(function: Function, line: int) -> set[str]:
    """The lists of which a line takes the part of a rank."""
    slices = (node for node in ast.walk(function) if isinstance(node, ast.Subscript) and node.lineno == line)
    parts = (node for node in slices if isinstance(node.slice, ast.Slice) and asks_for_rank(node.slice))
    return {node.value.id for node in parts if isinstance(node.value, ast.Name)}


def _numbers_of(call: ast.Call) -> frozenset[str] | None:
    """The modules whose numbers a call draws; None of a generator, which may be seeded alike."""
    if called_name(call) not in _DRAWS or any(one.arg in (_GENERATOR, None) for one in call.keywords):
        return None
    return next((each for each in _SOURCES if ast.unparse(call.func).rpartition(".")[0] in each), None)


def _filled_by(function: Function, draw: ast.Call) -> set[str]:
    """The lists that a loop through what was drawn fills under a condition of what it keeps from trip to trip: how many
    elements they have goes by the order."""
    drawn = _held(function, draw)
    found: set[str] = set()
    for loop in nodes_in(function):
        if isinstance(loop, ast.For) and (draw in ast.walk(loop.iter) or names_in(loop.iter) & drawn):
            found |= filled_by_size(loop)
    return found


def _held(function: Function, draw: ast.Call) -> set[str]:
    """The variables that hold what was drawn, or were made of it."""
    found: set[str] = set()
    if called_name(draw) == _SHUFFLES:
        found |= {one.id for one in draw.args[:1] if isinstance(one, ast.Name)}
    for node in sorted(_assignments(function), key=lambda one: one.lineno):
        if node.lineno >= draw.lineno and (draw in ast.walk(node.value) or names_in(node.value) & found):
            found |= {one.id for one in node.targets if isinstance(one, ast.Name)}
    return found


def _assignments(function: Function) -> Iterator[ast.Assign]:
    yield from (node for node in nodes_in(function) if isinstance(node, ast.Assign))


def _is_by_rank(recording: Recording, file: str, tree: ast.Module, draw: ast.Call, of: frozenset[str]) -> bool:
    """Whether the last seed before a draw has the number of the rank in it, by each way to it; or there is none, and
    its numbers are another process's own without."""
    seeds = list(_seeds(recording, of))
    if not seeds:
        return of != _TORCH
    for way in ways_to(recording, file, tree, draw.lineno):
        last = last_before(seeds, tuple(frame.site for frame in way))
        if last is None or named_for_rank(recording, last) is None:
            return False
    return True


def _seeds(recording: Recording, of: frozenset[str]) -> Iterator[Seed]:
    """The calls that seed the numbers of some modules, or those of all at once."""
    if of == _TORCH:
        yield from seeds_of_torch(recording)
        return
    for file, tree, call in calls_of(recording, "seed", *SEEDS - {"manual_seed", "manual_seed_all"}):
        own = called_name(call) == "seed"
        if not own or ast.unparse(call.func).rpartition(".")[0] in of:
            yield from (Seed(frames, call) for frames in ways_to(recording, file, tree, call.lineno))
