"""Copies of a model that were taken while ranks had parameters of their own: before the wrapper gave them one's."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gradscope.model.operation import Operation
from gradscope.model.site import Origin, Site, Stack
from gradscope.ranks.copies import Apart, Replicas, first_apart, looks_of
from gradscope.ranks.known import Ranks
from gradscope.store.reader import Recording, load

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
        site = _taken(recording, wrapped)
    return None if site is None else Copied(found, site, wrapped)


def _taken(recording: Recording, wrapped: Site) -> Site | None:
    """The line that copied modules before a wrap, in the function that wraps, where there is such a frame; None where
    several lines did, or none."""
    before: dict[str, Stack] = {}
    for one in _operations(recording):
        if str(one.site) == str(wrapped):
            break
        if _copies_a_module(one.stack):
            before.setdefault(str(one.site), one.stack)
    else:
        return None  # nothing is known to have run in the wrapper
    if len(before) != 1:
        return None
    frames = [site for stack in before.values() for site in stack if site.origin is Origin.USER]
    beside = (site for site in frames if (site.file, site.function) == (wrapped.file, wrapped.function))
    return next(beside, frames[0])


def _operations(recording: Recording) -> Iterator[Operation]:
    for block in recording.blocks(versions=False):
        if block.backward is not None:
            return
        yield from block.operations


def _copies_a_module(stack: Stack) -> bool:
    """Whether an operator ran in a deep copy of what holds a parameter."""
    functions = [site.function for site in stack if site.origin is not Origin.USER]
    return _COPIES in functions and _OF_A_MODULE in functions
