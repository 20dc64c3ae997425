"""A GradScaler that looked for what is not finite before gradients were averaged, so that ranks decide otherwise."""

from __future__ import annotations

from gradscope.model.rank import Rank
from gradscope.model.site import Site
from gradscope.model.training import SCALED_STEP, STEP, Interval
from gradscope.ranks.core.known import Told
from gradscope.ranks.source.ways import is_collective, ways_of
from gradscope.store.reader import Recording

_LOOKS = "aten._amp_foreach_non_finite_check_and_unscale_"
_UPDATES = "aten._amp_update_scale_"
Side = tuple[Rank, Recording]


def decided_apart(one: Side, other: Side, last: int) -> Told | None:
    """Why one rank made a scaled step up to backward `last` that the other left out, and the line; None where both did
    the same, or where nothing was exchanged between the look and the step."""
    for ours, theirs in zip(one[1].intervals(), other[1].intervals(), strict=False):
        if ours.backward != theirs.backward or ours.backward is None or ours.backward > last:
            return None
        stepped = [_stepped(interval) for interval in (ours, theirs)]
        if None in stepped or stepped[0] == stepped[1]:
            continue
        did, left = (one, other) if stepped[0] else (other, one)
        site = _looked(did[1], ours.backward)
        if site is None:
            return None
        why = "the scaler looked for infinite gradients before they were averaged, and "
        return f"{why}rank {left[0].rank} left a step out that rank {did[0].rank} made", site
    return None


def _stepped(interval: Interval) -> bool | None:
    """Whether all optimizers that were to step by a scaler did; None where none was to."""
    kinds = [call.kind for call in interval.calls]
    return kinds.count(STEP) >= kinds.count(SCALED_STEP) if SCALED_STEP in kinds else None


def _looked(recording: Recording, backward: int) -> Site | None:
    """The line that looked for what is not finite, on the way to a backward, before something was exchanged."""
    found: Site | None = None
    for one in ways_of(recording).get(backward, []):
        if one.name.startswith(_LOOKS):
            found = one.site
        elif one.name.startswith(_UPDATES):
            found = None
        elif found is not None and is_collective(one.name):
            return found
    return None
