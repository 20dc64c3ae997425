"""Exchanges that only show losses: what they sum is made of losses that backward calls started from, and of nothing
else, so that no count of other ranks comes along."""

from __future__ import annotations

from gradscope.model.site import Site
from gradscope.ranks.source.ways import is_collective
from gradscope.store.reader import Recording


def sites_that_show(recording: Recording) -> frozenset[Site]:
    """The lines on which nothing but losses was ever exchanged, in the steps whose operators are known one by one."""
    memory = {one.number: one.storage for one in recording.flow_tensors()}
    of_losses = {memory[one.tensor] for one in recording.flow_ends() if not one.target and one.tensor in memory}
    found: dict[Site, bool] = {}
    for one in recording.flow():
        read = {memory.get(each.tensor, -1) for each in one.reads}
        is_of_losses = bool(read) and of_losses.issuperset(read)
        if not is_collective(one.operation.name):
            of_losses.update(memory[made] for made in one.makes if is_of_losses and made in memory)
        elif one.site is not None:
            found[one.site] = found.get(one.site, True) and is_of_losses
    return frozenset(site for site, shows in found.items() if shows)
