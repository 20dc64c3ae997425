"""Why a wrapper averages no gradient of a parameter that drifts, in words, and the line."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from gradscope.model.averaging import Averaging
from gradscope.model.site import Site, Stack
from gradscope.ranks.core.copies import Apart
from gradscope.ranks.core.known import Ranks, Told
from gradscope.ranks.gradients.filling import given_at
from gradscope.ranks.gradients.held_back import decides
from gradscope.ranks.gradients.held_by_hand import BY_HAND, set_by_hand
from gradscope.ranks.replicas.beside import asked_at, entered_at
from gradscope.ranks.replicas.late_bypass import bypassed_later
from gradscope.ranks.replicas.late_parts import ADDED, added_at
from gradscope.ranks.replicas.thawing import thawed_at
from gradscope.store.file import damage_is_one_sentence
from gradscope.store.past_the_hooks import read_exchanged_early
from gradscope.store.reader import Recording, load

_ENOUGH = 2  # steps
_EARLY = (
    "DistributedDataParallel averages gradients before the last backward of a step, and what later ones add stays each "
    "rank's own"
)
_PAST = "the module inside DistributedDataParallel is called, so that no gradient is averaged"
_FROZEN = "DistributedDataParallel averages no gradient of a parameter that was frozen when it was made"
_HELD_BACK = "the last backward before an optimizer's step ran in no_sync(), so that its gradients stay its own"
_REPLACED = (
    "load_state_dict(assign=True) puts other parameters in the place of those that DistributedDataParallel has hooked, "
    "so that it averages no gradient of theirs"
)
_NOTHING = "DistributedDataParallel averages no gradient"
_DERIVED = (
    "torch.autograd.grad() hands gradients out and runs no hook of DistributedDataParallel, which averages none of them"
)


def why_not_averaged(ranks: Ranks, found: Apart, averaging: Averaging) -> tuple[str, Site | None] | None:
    """Of a parameter that is in a wrapper; None where its gradient is averaged."""
    own = ranks.own(found.members[0], found.leaf)
    with load(Path(ranks.rank(found.members[0]).path)) as recording:
        if averaging.bypassed is not None:
            averaging = replace(averaging, bypassed=_bypassed(recording, averaging.bypassed, averaging.way_past))
        told = _why(averaging, own)
        if told is None:
            return bypassed_later(ranks, found) or _switched_late(recording, averaging)
        return _decided(recording, averaging, own, *told)


def _bypassed(recording: Recording, called: Site, way: Stack) -> Site:
    """The line that asks for the module inside, or for what a helper gives; else that which calls it from outside: a
    method of the model's own that goes on to its layers is not to blame."""
    asks = asked_at(recording, called)
    entered = entered_at(recording, way) if asks == called else None
    return asks if entered is None else asked_at(recording, entered)


def _switched_late(recording: Recording, averaging: Averaging) -> Told | None:
    """That the switch of the wrapper is set by hand where its forward has read it already, and the line."""
    if averaging.by_hand or not averaging.groups:
        return None
    with damage_is_one_sentence(recording.path):
        early = read_exchanged_early(recording.tables.rows)
    site = set_by_hand(recording) if early >= _ENOUGH else None
    return (
        None if site is None else (f"{_EARLY}, as {BY_HAND} is set by hand for another one, or after its forward", site)
    )


def _decided(
    recording: Recording, averaging: Averaging, leaf: str, why: str, site: Site | None
) -> tuple[str, Site | None]:
    """The same, by the line that decides it."""
    if site is not None and site == averaging.derived:
        site = given_at(recording, site)
    if why == _FROZEN:
        why, site = _came_late(recording, leaf, site)
    if site is not None and site == averaging.unsynchronised:
        site = decides(recording, site)
    by_hand = set_by_hand(recording) if why == _NOTHING else None
    return (why, site) if by_hand is None else (f"{why}, as {BY_HAND} is set by hand", by_hand)


def _came_late(recording: Recording, leaf: str, wrapped: Site | None) -> tuple[str, Site | None]:
    """Why a wrapper has no hook on a parameter, and the line that adds or thaws it."""
    added = None if wrapped is None else added_at(recording, leaf, wrapped)
    return (_FROZEN, thawed_at(recording, leaf, wrapped) or wrapped) if added is None else (ADDED, added)


def _why(averaging: Averaging, leaf: str) -> tuple[str, Site | None] | None:
    """Why a leaf's gradient is not averaged, and the line; None where it is."""
    if leaf not in averaging.leaves:
        is_frozen = averaging.replaced is None
        return (_FROZEN, averaging.wrapped) if is_frozen else (_REPLACED, averaging.replaced)
    if averaging.by_hand:
        return None
    is_past = averaging.bypassed is not None and leaf in averaging.past
    if averaging.groups and not is_past:
        return None if averaging.unsynchronised is None else (_HELD_BACK, averaging.unsynchronised)
    ways = (
        (_PAST, averaging.bypassed),
        (_DERIVED, averaging.derived),
        ("no_sync() is never left, so that no gradient is averaged", averaging.unsynchronised),
        (_NOTHING, averaging.wrapped),
    )
    return next((way for way in ways if way[1] is not None), ways[-1])
