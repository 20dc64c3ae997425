"""Where a program calls the optimizer that holds a parameter which is not the same on all ranks."""

from __future__ import annotations

from pathlib import Path

from gradscope.model.site import Site
from gradscope.model.training import CallKind
from gradscope.ranks.core.copies import Apart
from gradscope.ranks.core.known import Ranks
from gradscope.store.reader import load


def call_of_optimizer(ranks: Ranks, found: Apart, kind: CallKind) -> Site | None:
    """The first line that makes such a call of the optimizer which has the parameter, on the first rank."""
    own = ranks.own(found.members[0], found.leaf)
    with load(Path(ranks.rank(found.members[0]).path)) as recording:
        looks = {one.optimizer for one in recording.optimizer_looks() for each in one.parameters if each.name == own}
        calls = (call for interval in recording.intervals() for call in interval.calls)
        return next((call.site for call in calls if call.kind is kind and call.optimizer in looks), None)
