"""How unlike the numbers are by which ranks divide their losses: what a division passes back is one by the number."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from gradscope.model.site import Site
from gradscope.ranks.core.copies import Replicas
from gradscope.ranks.core.known import Ranks
from gradscope.ranks.gradients.reduced import is_hooked
from gradscope.store.reader import Recording, load

_DIVIDES = "DivBackward"
_LOOKS = 5  # those of 16 steps
_TIMES = 1.5
_TIMES_IN_TURN = 2.0  # by chance one batch has more here, another there


@dataclass(frozen=True, slots=True)
class Counts:
    """The ranks that divide by the largest and the smallest number at the first look, and how many times as large that
    is at least, in each; `in_turn`: another rank has the largest at another look."""

    most: int
    least: int
    times: float
    in_turn: bool


def counts_apart(ranks: Ranks, replicas: Replicas, site: Site) -> Counts | None:
    """By how unlike numbers ranks divide on a line that ends each loss."""
    shares: dict[int, dict[int, float]] = {}
    for number in replicas.members:
        with load(Path(ranks.rank(number).path)) as recording:
            if is_hooked(recording):
                return None
            shares[number] = _shares(recording, site)
    looks = sorted(set.intersection(*(set(one) for one in shares.values())))
    if len(looks) < _LOOKS:
        return None
    most, least = (choose(shares, key=lambda number: shares[number][looks[0]]) for choose in (min, max))
    times = min(shares[least][look] / shares[most][look] for look in looks)
    if times >= _TIMES:
        return Counts(most, least, times, in_turn=False)
    columns = ([one[look] for one in shares.values()] for look in looks)
    times = min(max(column) / min(column) for column in columns)
    return Counts(most, least, times, in_turn=True) if times >= _TIMES_IN_TURN else None


def _shares(recording: Recording, site: Site) -> dict[int, float]:
    """By look: the gradient of what a line divides, where the loss is the quotient."""
    found: dict[int, float] = {}
    for look, sizes in recording.node_sizes().items():
        graph = recording.graph(look) if look in recording.graph_sizes() else None
        if graph is None or len(graph.roots) != 1:
            continue
        root = graph.nodes[graph.roots[0]]
        if root.name.startswith(_DIVIDES) and str(root.site) == str(site):
            targets = [one.target for one in graph.edges if one.source == root.id]
            size = sizes.get(targets[0], 0.0) if len(targets) == 1 else 0.0
            if size > 0 and math.isfinite(size):
                found[look] = size
    return found
