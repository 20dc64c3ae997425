"""Gradients that each rank divides by a count of its own before the program averages them, where ranks select much
unlike numbers of samples: in all steps, or from one on, as when a sensor fails."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path

from gradscope.model.graph import Graph
from gradscope.model.site import Site
from gradscope.ranks.core.copies import Replicas
from gradscope.ranks.core.known import Ranks
from gradscope.ranks.gradients.mean_losses import have_own_losses
from gradscope.ranks.gradients.own_counts import gradients_by_own_counts
from gradscope.store.reader import Recording, load

_SELECTS = re.compile(r"(MaskedSelect|Index)Backward\d")
_STREAK = 10  # backward calls, one after another: by chance one batch has more here, another there
_TIMES = 1.5
_NEAR = 16  # nodes from a loss


@dataclass(frozen=True, slots=True)
class Divided:
    """The line, the ranks that select the most and the least, and how many times as many at least; None of these where
    no mask tells."""

    site: Site
    most: int | None = None
    least: int | None = None
    times: float = 1.0


def divided_gradients(ranks: Ranks, replicas: Replicas) -> Divided | None:
    """The line that divides gradients which the program itself averages, by how unlike counts."""
    if replicas.leaves is None or len(replicas.members) < 2 or not have_own_losses(ranks, replicas):
        return None
    sites: set[Site] = set()
    selected: dict[int, dict[int, int]] = {}
    for number in replicas.members:
        with load(Path(ranks.rank(number).path)) as recording:
            lines = gradients_by_own_counts(recording)
            if len(lines) != 1:
                return None
            sites |= lines
            selected[number] = _selected(recording)
    if len(sites) != 1:
        return None
    pairs = permutations(selected, 2)
    found = ((_streak(selected[most], selected[least]), most, least) for most, least in pairs)
    site = sites.pop()
    told = (Divided(site, most, least, times) for times, most, least in found if times is not None)
    return next(told, None if all(selected.values()) else Divided(site))


def _selected(recording: Recording) -> dict[int, int]:
    """By backward: how many numbers a mask selected for its loss, where one did."""
    known = recording.graph_sizes()
    many = {call.number: _of(recording.graph(call.number)) for call in recording.backwards() if call.number in known}
    return {number: each for number, each in many.items() if each}


def _of(graph: Graph) -> int:
    onward: dict[int, list[int]] = {}
    for edge in graph.edges:
        onward.setdefault(edge.source, []).append(edge.target)
    waiting = list(graph.roots)
    for at in waiting:  # grows while it is walked
        node = graph.nodes[at]
        if _SELECTS.fullmatch(node.name):
            return next((math.prod(meta.shape) for meta in node.inputs_meta[:1] if meta is not None), 0)
        waiting += [one for one in onward.get(at, ()) if one not in waiting][: max(_NEAR - len(waiting), 0)]
    return 0


def _streak(more: dict[int, int], less: dict[int, int]) -> float | None:
    """How much more one selects than another, in each of some backward calls one after another."""
    times: list[float] = []
    for number in sorted(more.keys() & less.keys()):
        each = more[number] / less[number]
        if each < _TIMES and len(times) < _STREAK:
            times.clear()
        elif each >= _TIMES:
            times.append(each)
        else:
            break
    return min(times) if len(times) >= _STREAK else None
