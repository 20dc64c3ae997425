"""Process groups that not all ranks come to make: new_group() waits for every rank, whoever is to be in the group."""

from __future__ import annotations

import re
from itertools import islice
from pathlib import Path

from gradscope.model.rank import Rank, State
from gradscope.model.site import Origin, Site, Stack
from gradscope.ranks.core.known import Ranks, Told
from gradscope.ranks.source.chosen import gone_through_by_rank
from gradscope.ranks.source.deciding import rank_that_decides
from gradscope.store.reader import Recording, load

_MAKES = "new_group"  # as new_subgroups() and init_device_mesh() call it as well
_WAITED = re.compile("time.?out|timed out", re.IGNORECASE)
_OTHERS = 8  # ranks that are asked
_WORDS = "making a group that all ranks have to make, and not all come to"


def made_by_some(ranks: Ranks, one: Rank, recording: Recording) -> Told | None:
    """The condition of the rank under which one waits in new_group(), where no other rank does."""
    stack = _waits_in(one, recording)
    if not stack:
        return None
    for other in islice((other for other in ranks.ranks if other.rank != one.rank), _OTHERS):
        with load(Path(other.path)) as there:
            if _waits_in(other, there):
                return None
    site = rank_that_decides(recording, stack) or gone_through_by_rank(recording, stack)
    return None if site is None else (_WORDS, site)


def _waits_in(one: Rank, recording: Recording) -> Stack:
    """Where a rank gave up, or was killed, as it made a group; nothing where it did not."""
    if one.state is State.KILLED:
        return () if one.waits or one.at is None or not _names_it(one.at) else (one.at,)
    failures = recording.failures()
    stack = failures[-1].stack if failures and _WAITED.search(one.exception or "") else ()
    inside = any(site.origin is Origin.TORCH and site.function.rpartition(".")[2] == _MAKES for site in stack)
    return stack if inside else ()


def _names_it(at: Site) -> bool:
    return re.search(rf"\b{_MAKES}\(", at.source or "") is not None
