"""Gradients that DistributedDataParallel has averaged, and that the program then sums over the same ranks itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gradscope.model.graph import Backward
from gradscope.model.site import Site
from gradscope.ranks.core.copies import replicas_of
from gradscope.ranks.core.known import Ranks
from gradscope.ranks.gradients.doubled import sum_on
from gradscope.ranks.gradients.mean_losses import (
    PROPORTIONAL,
    have_own_losses,
    is_known_in_source,
    leads_to_a_mean,
    scales_gradients,
)
from gradscope.ranks.gradients.reduced import averages, is_hooked
from gradscope.ranks.source.syntax import function_around, tree_of
from gradscope.store.collective_reader import read_gradients_of_runs
from gradscope.store.file import damage_is_one_sentence
from gradscope.store.reader import Recording, load

_LOOKS = 2  # backward calls, at least


@dataclass(frozen=True, slots=True)
class SummedAfter:
    """The line that sums, where the wrapper was made, a leaf, and how many ranks there are."""

    site: Site
    wrapped: Site | None
    leaf: str
    world: int


def summed_after(ranks: Ranks) -> SummedAfter | None:
    """The first leaf of a mean loss whose gradient is as many times too large as there are ranks; None where anything
    scales it, or the optimizer steps by its direction alone."""
    for replicas in replicas_of(ranks):
        told = ranks.averaging[replicas.members[0]]
        by_hand = {one.leaf for one in told.by_hand if one.group == replicas.group} & told.leaves
        if replicas.leaves is not None or not by_hand or not have_own_losses(ranks, replicas):
            continue
        with load(Path(ranks.rank(replicas.members[0]).path)) as recording:
            found = _found(recording, by_hand)
        if found is not None:
            leaf, site = found
            return SummedAfter(site, told.wrapped, leaf, len(replicas.members))
    return None


def _found(recording: Recording, by_hand: set[str]) -> tuple[str, Site] | None:
    looks = recording.optimizer_looks()
    if not looks or any(look.name != PROPORTIONAL for look in looks):
        return None
    if is_hooked(recording) or is_known_in_source(recording):
        return None
    calls = [call for call in recording.backwards() if call.nested_in is None and not call.create_graph]
    summed: dict[int, tuple[str, Site]] = {}
    for number, leaf, site in _sums(recording, calls):
        if leaf in by_hand:
            summed.setdefault(number, (leaf, site))
    if len(summed) < _LOOKS or scales_gradients(recording, calls):
        return None
    if not all(_is_of_a_mean(recording, number, leaf) for number, (leaf, _) in summed.items()):
        return None
    return summed[min(summed)]


def _sums(recording: Recording, calls: list[Backward]) -> Iterator[tuple[int, str, Site]]:
    """The last backward call before a leaf's gradient was summed by the program, the leaf and the line."""
    with damage_is_one_sentence(recording.path):
        leaves = read_gradients_of_runs(recording.tables.rows, recording.tables.interned)
    numbers, last = {call.number for call in calls}, None
    for block in recording.blocks():
        if block.backward in numbers:
            last = block.backward
        elif block.number in leaves and last is not None and block.operations:
            site = block.operations[-1].site
            if site is not None and _is_sum(recording, site):
                yield last, leaves[block.number], site


def _is_sum(recording: Recording, site: Site) -> bool:
    function = function_around(tree_of(recording, site), site.line)
    return function is not None and sum_on(function, site.line) is not None


def _is_of_a_mean(recording: Recording, number: int, leaf: str) -> bool:
    """Whether a backward of a mean came to the leaf, and the wrapper averaged in it."""
    if not averages(recording, number):
        return False
    graph = recording.graph(number)
    return any(node.leaf == leaf for node in graph.nodes) and leads_to_a_mean(graph, graph.roots[:1])
