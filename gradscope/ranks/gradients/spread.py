"""A NaN that all ranks had in one backward call, and that one of them had before it met the others."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from gradscope.model.birth import Birth
from gradscope.model.graph import Graph
from gradscope.model.operation import Operation
from gradscope.model.rank import Rank
from gradscope.model.site import Site
from gradscope.ranks.gradients.counted import local_count
from gradscope.ranks.source.ways import is_collective, ways_of
from gradscope.store.reader import Recording, load

_MOST = 64  # ranks whose ways are held against each other


@dataclass(frozen=True, slots=True)
class Source:
    """The rank in which a NaN was born, and the operator that gave it; `counts`: the line that took this rank's number
    of samples for that of each, where it divides what came of that."""

    rank: Rank
    birth: Birth
    counts: Site | None


@dataclass(frozen=True, slots=True)
class _Born:
    """The first NaN of a rank: how many collectives the rank had entered when it was born, at least and at most."""

    recording: Recording
    way: list[Operation]
    birth: Birth
    least: int
    most: int


def source_of(ranks: list[Rank], backward: int) -> Source | None:
    """Where it was born, of ranks that all had it in a backward call: before a collective after which others had it."""
    if not 1 < len(ranks) <= _MOST:
        return None
    with ExitStack() as files:
        recordings = [files.enter_context(load(Path(one.path))) for one in ranks]
        found = [one for one in (_born(recording, backward) for recording in recordings) if one is not None]
        if len(found) < len(ranks):
            return None
        first, second = sorted(found, key=lambda one: one.least)[:2]
        if first.most >= second.least or first.birth.entered:
            return None
        uneven = _shapes(first.recording.graph(backward)) != _shapes(second.recording.graph(backward))
        counts = local_count(first.recording, first.birth.stack, first.way) if uneven else None
        return Source(ranks[found.index(first)], first.birth, counts)


def _born(recording: Recording, backward: int) -> _Born | None:
    """The first NaN on the way to a backward; None where none is known."""
    way = ways_of(recording).get(backward, [])
    met = 0
    places: dict[Birth, list[int]] = {one: [] for one in recording.births() if one.step == backward}
    for one in way:
        met += is_collective(one.name)
        for birth, at in places.items():
            if (birth.op, birth.stack, birth.module) == (one.name, one.stack, one.module):
                at.append(met)
    known = {birth: at for birth, at in places.items() if at}
    if not known:
        return None
    birth = min(known, key=lambda one: known[one][0])
    return _Born(recording, way, birth, known[birth][0], known[birth][-1])


def _shapes(graph: Graph) -> list[tuple[int, ...] | None]:
    return [None if given is None else given.shape for node in graph.nodes for given in node.inputs_meta]
