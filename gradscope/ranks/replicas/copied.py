"""Copies of a model that were taken while ranks had parameters of their own: before the wrapper gave them one's."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from gradscope.model.site import Origin, Site, Stack, user_site
from gradscope.ranks.core.copies import Apart, Replicas, first_apart, looks_of
from gradscope.ranks.core.known import Ranks
from gradscope.store.reader import Recording, load

_NAMELESS = "leaf"  # what a parameter is called whose model has not run
_COPIES = "__deepcopy__"  # what torch copies a parameter by
_OF_A_MODULE = "_reconstruct"  # what Python's copy.deepcopy builds an object anew by


@dataclass(frozen=True, slots=True)
class Copied:
    """What is apart in a copy, the line that took it, and that which wrapped the model afterwards."""

    apart: Apart
    site: Site
    wrapped: Site


def copied_before(ranks: Ranks, replicas: Replicas) -> Copied | None:
    """A copy of a model that was apart at the first look at it, and was taken before the model was wrapped."""
    wrapped = ranks.averaging[replicas.members[0]].wrapped
    found = first_apart(ranks.copies, replicas, looks_of(ranks.copies, replicas)[:1], lambda leaf: True)
    if found is None or wrapped is None:
        return None
    with load(Path(ranks.rank(found.odd[0]).path)) as recording:
        site = _taken(recording, wrapped, found.leaf)
    return None if site is None else Copied(found, site, wrapped)


def _taken(recording: Recording, wrapped: Site, leaf: str) -> Site | None:
    """The line that copied a model before a wrap, in the function that wraps, where there is such a frame; None where
    what is apart lies elsewhere, or where several lines copied models and nothing says which."""
    before = _copied(recording, wrapped)
    wanted = _memory_of(recording, leaf)
    among = wanted & before.keys()
    if not wanted and _memory_of(recording, _NAMELESS) <= before.keys():
        among = set(before)  # it did not run while names were learned, and there is no other that did not
    stacks = {str(user_site(before[each])): before[each] for each in among}
    if len(stacks) != 1:
        return None
    frames = [site for stack in stacks.values() for site in stack if site.origin is Origin.USER]
    beside = (site for site in frames if site.is_in_function_of(wrapped))
    return next(beside, frames[0])


def _memory_of(recording: Recording, leaf: str) -> set[int]:
    """The storages of the parameters of a name."""
    return {one.storage for one in recording.flow_tensors() if one.parameter and one.leaf == leaf}


def _copied(recording: Recording, wrapped: Site) -> dict[int, Stack]:
    """By storage: where a parameter was copied into it before a wrap."""
    storages = {one.number: one.storage for one in recording.flow_tensors()}
    found: dict[int, Stack] = {}
    for one in recording.flow():
        if one.backward is not None:
            return {}  # nothing is known to have run in the wrapper
        if _copies_a_module(one.operation.stack):
            found.update({storages[each]: one.operation.stack for each in one.makes if each in storages})
        elif str(one.site) == str(wrapped):
            return found
    return {}


def _copies_a_module(stack: Stack) -> bool:
    """Whether an operator ran in a deep copy of what holds a parameter."""
    functions = [site.function for site in stack if site.origin is not Origin.USER]
    return _COPIES in functions and _OF_A_MODULE in functions
