"""The calls by which a program trains, for each stretch of operators between two backward calls."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict

from gradscope.explain.evidence.case import Case
from gradscope.model.training import TrainingCall
from gradscope.store.asked import kept


@kept
def calls_by_block(case: Case) -> dict[int, tuple[TrainingCall, ...]]:
    """By the number of a stretch: the calls up to the backward that ends it."""
    starts: dict[int, list[tuple[float, int]]] = defaultdict(list)
    for call in case.backwards():
        starts[call.thread].append((call.started, call.number))
    called = {(one.thread, one.backward): one.calls for one in case.intervals()}
    found: dict[int, tuple[TrainingCall, ...]] = {}
    for block in case.blocks():
        if block.backward is None:
            calls = starts[block.thread]
            at = bisect_left(calls, (block.started, -1))
            found[block.number] = called.get((block.thread, calls[at][1] if at < len(calls) else None), ())
    return found
