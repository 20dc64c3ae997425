"""The branch by which ranks that wait for each other came to collectives of different groups."""

from __future__ import annotations

from pathlib import Path

from gradscope.model.rank import Rank
from gradscope.ranks.meeting.leaving import waits_under
from gradscope.ranks.source.passing import Branch, passed_by
from gradscope.store.reader import load


def crossed_by(circle: list[Rank]) -> tuple[Rank, Branch] | None:
    """Which of two ranks of a circle took a branch that the other was below, and this branch."""
    with load(Path(circle[0].path)) as first, load(Path(circle[1].path)) as second:
        ways = [(circle[0], first, waits_under(first)), (circle[1], second, waits_under(second))]
        for (one, recording, stack), (_, _, other) in (ways, reversed(ways)):
            branch = passed_by(recording, stack, other)
            if branch is not None:
                return one, branch
    return None
