"""An optimizer that holds parameters which fully_shard() has put others in the place of."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from gradscope.model.flow import GradientState
from gradscope.model.site import Origin, Site, Stack, user_site
from gradscope.model.training import MADE
from gradscope.ranks.passing import parting
from gradscope.store.reader import Recording

_PARTS = "fully_shard"


@dataclass(frozen=True, slots=True)
class Early:
    """An optimizer's line, that which parts its parameters, and how many these are."""

    made: Site
    parted: Site
    held: int


def made_before_parting(recording: Recording) -> Early | None:
    """The first optimizer of which all parameters were parted, and none ever had a gradient at a step."""
    parted: dict[int, Stack] = {}
    for one in recording.flow():
        if one.backward is None and _parts(one.operation.stack):
            parted.update({read.tensor: one.operation.stack for read in one.reads if read.leaf})
    if not parted:
        return None
    states: dict[int, dict[int, set[GradientState]]] = defaultdict(lambda: defaultdict(set))
    for look in recording.optimizer_looks():
        for held in look.parameters:
            states[look.optimizer][held.tensor].add(held.state)
    for optimizer, held_by in states.items():
        if held_by and held_by.keys() <= parted.keys() and set().union(*held_by.values()) == {GradientState.NONE}:
            stack = parted[max(held_by)]
            made, by = _made(recording, optimizer), user_site(stack)
            if made and by is not None:
                ways = parting(made, stack)
                site = user_site(made) if ways is None else ways[0]
                return None if site is None else Early(site, by if ways is None else ways[1], len(held_by))
    return None


def _parts(stack: Stack) -> bool:
    return any(site.function == _PARTS and site.origin is not Origin.USER for site in stack)


def _made(recording: Recording, optimizer: int) -> Stack:
    """Where an optimizer was made."""
    for interval in recording.intervals():
        for call in interval.calls:
            if call.kind is MADE and call.optimizer == optimizer:
                return call.stack
    return ()
