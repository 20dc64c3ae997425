"""Models under fully_shard() that is given one dimension of a mesh, so that nobody averages gradients along another."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Collection, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from gradscope.functions.source import called_name
from gradscope.model.operation import base_name
from gradscope.model.site import Origin, Site, Stack
from gradscope.ranks.core.known import Ranks
from gradscope.ranks.gradients.sharded_means import puts_together
from gradscope.ranks.replicas.rates import unlike_rates
from gradscope.ranks.source.deciding import origin
from gradscope.ranks.source.given import Frame, frames_of
from gradscope.ranks.source.seeds import last_before, named_for_rank, seeds_of_torch
from gradscope.store.reader import Recording, load

_SHARDS = "fully_shard"
_MESHES = ("init_device_mesh", "DeviceMesh")
_TWO = 2
_DIMENSIONS = "mesh_dim_names"
_FILLS = ("uniform_", "normal_")
_OF_COPIES = re.compile(r"repl|data|(?:^|_)d?dp(?:_|$)", re.IGNORECASE)  # what copies of one model are laid along


@dataclass(frozen=True, slots=True)
class MeshPart:
    """The line that takes a part of a mesh, its name, and that of the dimension along which nobody averages."""

    site: Site
    taken: str
    left: str


@dataclass(frozen=True, slots=True)
class _Start:
    """The stacks, before the first backward call, of what fills memory with random numbers, shards, makes meshes."""

    drawn: set[Stack] = field(default_factory=set)
    shards: set[Stack] = field(default_factory=set)
    meshes: set[Stack] = field(default_factory=set)


def mesh_part(ranks: Ranks) -> MeshPart | None:
    """The part of a mesh that fully_shard() is given, where copies of the model that begin alike see other data and
    exchange nothing."""
    if len(ranks.ranks) < 2 or len(ranks.losses) < 2 or _all_meet(ranks):
        return None
    if any(one.is_wrapped or one.by_hand for one in ranks.averaging.values()):
        return None
    with ExitStack() as files:
        here, there = (files.enter_context(load(Path(one.path))) for one in ranks.ranks[:: len(ranks.ranks) - 1])
        start = _before_backwards(here)
        found = _taken(here, start) if start.shards and start.meshes else None
        if found is None or not _begins_alike(here, start.drawn) or unlike_rates(here, there) is not None:
            return None
        return found if _reduces(here) and _reduces(there) else None


def _all_meet(ranks: Ranks) -> bool:
    """Whether what is larger than one number comes from each rank to each other, by whatever groups."""
    sets = [{one.rank} for one in ranks.ranks]
    for one in ranks.collectives:
        if one.group is not None and any(math.prod(each.shape) > 1 for each in one.types):
            joined = set(one.group.members).union(*(each for each in sets if not each.isdisjoint(one.group.members)))
            sets = [each for each in sets if each.isdisjoint(joined)] + [joined]
    return len(sets) < 2


def _begins_alike(recording: Recording, drawn: Collection[Stack]) -> bool:
    """Whether parameters are drawn after a seed that is not by the number of the rank."""
    seeds = list(seeds_of_torch(recording, restoring=True))
    last = [last_before(seeds, stack) for stack in drawn]
    return bool(last) and not any(one is None or one.restores or named_for_rank(recording, one) for one in last)


def _before_backwards(recording: Recording) -> _Start:
    """Where parameters are drawn, as layers do when they are built, and what shards and makes a mesh."""
    found = _Start()
    for block in recording.blocks():
        if block.backward is not None:
            break
        for one in block.operations:
            if base_name(one.name) in _FILLS:
                found.drawn.add(one.stack)
            functions = {site.function for site in one.stack if site.origin is not Origin.USER}
            if _SHARDS in functions:
                found.shards.add(one.stack)
            if not functions.isdisjoint(_MESHES):
                found.meshes.add(one.stack)
    return found


def _reduces(recording: Recording) -> bool:
    """Whether FSDP puts gradients together in a backward call, for a group to reduce them."""
    inside = (block for block in recording.blocks() if block.backward is not None)
    return any(one.name.startswith("fsdp.") or puts_together(one) for block in inside for one in block.operations)


def _taken(recording: Recording, start: _Start) -> MeshPart | None:
    """The one part that all calls are given, of the one mesh with names that the program makes."""
    calls = [call for stack in start.meshes for _, call in _called(recording, stack, *_MESHES)]
    dimensions = {names for call in calls for names in _names_of(call)}
    if len(dimensions) != 1:
        return None
    names = dimensions.pop()
    given = [each for stack in start.shards for each in _called(recording, stack, _SHARDS)]
    parts = {_part_of(recording, frames, _argument(call, "mesh"), names) for frames, call in given}
    return parts.pop() if len(parts) == 1 else None


def _called(recording: Recording, stack: Stack, *names: str) -> Iterator[tuple[list[Frame], ast.Call]]:
    """The calls by some names on the innermost line of a stack, with its frames."""
    frames = frames_of(recording, stack)
    for node in ast.walk(frames[0].function) if frames else ():
        is_there = isinstance(node, ast.Call) and node.lineno <= frames[0].site.line <= (node.end_lineno or 0)
        if is_there and isinstance(node, ast.Call) and called_name(node) in names:
            yield frames, node


def _argument(call: ast.Call, name: str) -> ast.expr | None:
    return next((one.value for one in call.keywords if one.arg == name), None)


def _names_of(call: ast.Call) -> Iterator[tuple[str, ...]]:
    """The names of the dimensions of a mesh, where they stand there."""
    value = _argument(call, _DIMENSIONS)
    if isinstance(value, (ast.Tuple, ast.List)):
        texts = (one.value for one in value.elts if isinstance(one, ast.Constant))
        yield tuple(one for one in texts if isinstance(one, str))


def _part_of(
    recording: Recording, frames: list[Frame], mesh: ast.expr | None, names: tuple[str, ...]
) -> MeshPart | None:
    """The part by one name that a call is given, where the name of another dimension says that copies lie along it."""
    for taken in names if mesh is not None and len(set(names)) == _TWO else ():
        site = None if mesh is None else origin(recording, frames, mesh, partial(_takes, taken))
        left = next(one for one in names if one != taken)
        if site is not None and _OF_COPIES.search(left):
            return MeshPart(site, taken, left)
    return None


def _takes(name: str, value: ast.expr) -> bool:
    """Whether an expression is one dimension of a mesh, by its name."""
    return isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Constant) and value.slice.value == name
