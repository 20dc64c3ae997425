"""By which seed a rank drew the parameters that other ranks have otherwise, or where they were drawn without any."""

from __future__ import annotations

from collections.abc import Iterator

from gradscope.model.flow import FlowOperation
from gradscope.model.operation import base_name
from gradscope.model.site import Site, Stack
from gradscope.ranks.source.attributes import is_of_a_module
from gradscope.ranks.source.given import frames_of
from gradscope.ranks.source.seeds import last_before, named_for_rank, seeds_of_torch
from gradscope.store.reader import Recording

_DRAWS = frozenset(("uniform_", "normal_", "rand", "randn"))


def seeded_at(recording: Recording, leaf: str) -> Site | None:
    """The line that gives the last seed before a parameter was drawn another value on each rank; where the program has
    no seed at all, the line that builds the model. None where another line made the parameter, or nothing tells."""
    stack = _drawn(recording, leaf)
    if not stack:
        return None
    seeds = list(seeds_of_torch(recording))
    if not seeds:
        return _built(recording, stack)
    last = last_before(seeds, stack)
    return None if last is None else named_for_rank(recording, last)


def _drawn(recording: Recording, leaf: str) -> Stack:
    """Under which stack a parameter was drawn that nothing else had a part in before the first backward call."""
    storages = {one.number: one.storage for one in recording.flow_tensors()}
    own = {one.storage for one in recording.flow_tensors() if one.parameter and one.leaf == leaf}
    found: Stack = ()
    for one in _before_backwards(recording):
        if own.isdisjoint(storages.get(at) for at in one.makes):
            continue
        if not own.issuperset(storages.get(each.tensor) for each in one.reads):
            return ()
        if base_name(one.operation.name) in _DRAWS:
            found = one.operation.stack
    return found


def _before_backwards(recording: Recording) -> Iterator[FlowOperation]:
    for one in recording.flow():
        if one.backward is not None:
            return
        yield one


def _built(recording: Recording, stack: Stack) -> Site | None:
    """The innermost line that is in no class which has a forward: it builds the model."""
    return next((one.site for one in frames_of(recording, stack) if not is_of_a_module(one)), None)
