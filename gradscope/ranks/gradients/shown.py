"""Exchanges that only show losses: what they sum is made of losses that backward calls started from, and of nothing
else, so that no count of other ranks comes along; or of what no rank's step can use, as one rank does not read it."""

from __future__ import annotations

from gradscope.model.flow import FlowOperation
from gradscope.model.operation import base_name
from gradscope.model.site import Site
from gradscope.ranks.source.ways import is_collective
from gradscope.store.reader import Recording

_READS = "_local_scalar_dense"  # a number of Python's


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


def sites_left_unused(recording: Recording) -> frozenset[Site]:
    """The lines on which something is exchanged that leads nowhere on this rank: no number is read of it, no backward
    starts from it or has it, and nothing that was there before is written with it."""
    memory = {one.number: one.storage for one in recording.flow_tensors()}
    starts = {memory[one.tensor] for one in recording.flow_ends() if not one.target and one.tensor in memory}
    come_from: dict[int, set[Site]] = {}  # by memory
    known: set[int] = set()
    sites: set[Site] = set()
    used: set[Site] = set()
    for one in recording.flow():
        read, made = ({memory[each] for each in some if each in memory} for some in (_read(one), one.makes))
        of = {site for each in read for site in come_from.get(each, ())}
        exchanges = is_collective(one.operation.name) and one.backward is None and one.site is not None
        if exchanges and one.site is not None:
            sites.add(one.site)
            of.add(one.site)
        is_used = one.backward is not None or base_name(one.operation.name) == _READS or not starts.isdisjoint(made)
        is_written = not exchanges and any(each in known and each not in come_from for each in made)
        if of and (is_used or is_written):
            used |= of
        for each in made if of else ():
            come_from[each] = come_from.get(each, set()) | of
        known |= read | made
    return frozenset(sites - used)


def _read(one: FlowOperation) -> list[int]:
    return [each.tensor for each in one.reads]
