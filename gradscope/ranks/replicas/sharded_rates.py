"""Shards of one model, as FSDP makes them, whose ranks step them with learning rates of their own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from gradscope.model.site import Site
from gradscope.ranks.core.known import Ranks
from gradscope.ranks.replicas.rates import unlike_rates
from gradscope.store.reader import load

_SCATTERS = "reduce_scatter"
_MOST = 8  # ranks: each is read


def sharded_rates(ranks: Ranks) -> Iterator[tuple[str, Site]]:
    """The first rate that a rank of a group which scatters gradients in its backward calls has alone, and the line."""
    groups = {one.group.key for one in ranks.collectives if one.inside and one.group and _SCATTERS in one.operator}
    for _, members in sorted(groups):
        known = [one for one in members if one in ranks.averaging][:_MOST]
        for other in known[1:]:
            with load(Path(ranks.rank(known[0]).path)) as here, load(Path(ranks.rank(other).path)) as there:
                found = unlike_rates(there, here)
            if found is not None:
                yield found
                return
