"""Whether training went well up to a backward, and is lost since."""

from __future__ import annotations

from gradscope.explain.deductions.numbers.losses_over_time import lost_from
from gradscope.explain.deductions.numbers.nonfinite_arrivals import first_nonfinite
from gradscope.explain.evidence.case import Case


def is_lost_since(case: Case, backward: int) -> bool:
    """Whether losses were well up to a backward, and not after it."""
    arrived, lost = first_nonfinite(case), lost_from(case)
    since = [] if arrived is None or arrived.arrival is None else [arrived.arrival.backward]
    return any(one > backward for one in (*since, *(() if lost is None else (lost[0],))))
