"""Tensors that the program gives other values while it trains, by no optimizer.

What is followed of the first steps has the line that writes; whether that comes again, all operators tell.
"""

from __future__ import annotations

from collections import defaultdict

from gradscope.explain.deductions.steps.running_averages import times_run
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import dataflow, is_optimizer
from gradscope.model.site import Site
from gradscope.store.asked import kept


def is_rewritten(case: Case, tensor: int) -> bool:
    """Whether a line outside of backwards and optimizers writes to a tensor's memory after the first backward."""
    known = dataflow(case).tensors.get(tensor)
    lines = {} if known is None else _writers(case).get(known.storage, {})
    return any(run > _first(case) or times_run(case, site) > 1 for site, run in lines.items())


@kept
def _first(case: Case) -> int:
    """The stretch of operators in which the first backward that was followed ran."""
    return min((one.run for one in dataflow(case).operations if one.backward is not None), default=0)


@kept
def _writers(case: Case) -> dict[int, dict[Site | None, int]]:
    """By memory: the lines that write to it, and in which stretch of operators each did so last."""
    flow, found = dataflow(case), defaultdict[int, dict[Site | None, int]](dict)
    for at, written in flow.written.items():
        operation = flow.operations[at]
        for storage in written if operation.backward is None and not is_optimizer(operation) else ():
            found[storage][operation.site] = operation.run
    return dict(found)
