"""Whether a line adds, in place, to a tensor that the program keeps: there its graph grows, not where it was begun."""

from __future__ import annotations

from collections import defaultdict

from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import dataflow
from gradscope.model.site import Site
from gradscope.store.asked import kept

_TIMES = 2  # stretches of operators: an activation in place writes into new memory in each


def is_filled_at(case: Case, site: Site) -> bool:
    """Whether a line writes what has a graph into one memory, in several stretches of operators."""
    return (site.file, site.line) in _lines_that_fill(case)


@kept
def _lines_that_fill(case: Case) -> frozenset[tuple[str, int]]:
    flow = dataflow(case)
    runs: dict[tuple[str, int, int], set[int]] = defaultdict(set)
    for at, storages in flow.written.items():
        one = flow.operations[at]
        if one.site is not None and flow.reads_learned(at):
            for storage in storages:
                runs[one.site.file, one.site.line, storage].add(one.run)
    return frozenset((file, line) for (file, line, _), found in runs.items() if len(found) >= _TIMES)
