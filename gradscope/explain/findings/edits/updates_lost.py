"""GS852: updates of rows that are written under the same index: of those of one row only one is kept."""

from __future__ import annotations

from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import RecordedDataflow, dataflow
from gradscope.model.flow import FlowOperation
from gradscope.model.operation import base_name
from gradscope.model.site import Site

_STEPS = 4  # operators from what was read under the index to what is written under it, at most


def updates_lost(case: Case) -> Iterator[Cause]:
    """What it flags: rows read under an index, added to, and written back, where a row stands there repeatedly.

    Why: `table[index] += values` reads all rows first and writes each back once. Of several updates of one row the last
    one written stays and the others are gone, in the value and in the gradient. Messages of a graph, counts, votes
    come out too small.

    Wrong:
        total = torch.zeros(nodes, features)
        total[target] += messages

    Right:
        total = torch.zeros(nodes, features).index_add(0, target, messages)

    Do instead: index_add or scatter_add, or index_put_ with accumulate=True.

    How it is found: the index has more entries than the table has rows, so that a row stands in it twice, and what is
    written was computed from what the same index read and from other values, one for each entry.
    """
    flow = dataflow(case)
    said: set[Site | None] = set()
    for at, operation in enumerate(flow.operations):
        if base_name(operation.operation.name) != "index_put_" or operation.backward is not None:
            continue
        if operation.site not in said and _loses(flow, at, operation):
            said.add(operation.site)
            table, index = (flow.tensors[one.tensor].type.shape for one in operation.reads[:2])
            message = f"{index[0]:,} updates of {table[0]:,} rows: of those of one row all but one are lost"
            yield Cause(message, operation.site, op=operation.operation.name)


def _loses(flow: RecordedDataflow, at: int, operation: FlowOperation) -> bool:
    """Whether rows are written back that the same index read, more of them than there are."""
    known = [flow.tensors.get(one.tensor) for one in operation.reads]
    if len(known) != 3 or None in known:
        return False
    table, index, value = (one for one in known if one is not None)
    shapes = table.type.shape, index.type.shape
    if index.type.dtype != "int64" or len(shapes[1]) != 1 or not shapes[0] or shapes[1][0] <= shapes[0][0]:
        return False
    return _combines(flow, value.number, at, (table.number, index.number), shapes[1][0])


def _combines(flow: RecordedDataflow, value: int, before: int, wanted: tuple[int, int], count: int) -> bool:
    """Whether a value was computed from what an index reads from a table, and from others, as many."""
    return all(_way(flow, value, before, wanted, count, _STEPS))


def _way(
    flow: RecordedDataflow, tensor: int, before: int, wanted: tuple[int, int], count: int, left: int
) -> tuple[bool, bool]:
    """Whether a tensor comes from what the index reads, and whether something else, as long, went into it."""
    at = flow.maker(tensor, before) if left else None
    if at is None:
        return False, False
    tensors = [one.tensor for one in flow.operations[at].reads]
    if base_name(flow.operations[at].operation.name) == "index":
        return tuple(tensors) == wanted, False
    ways = {one: _way(flow, one, at, wanted, count, left - 1) for one in tensors}
    if not any(reads for reads, _ in ways.values()):
        return False, False
    others = (one for one, (reads, _) in ways.items() if not reads)
    return True, any(more for _, more in ways.values()) or any(_is_long(flow, one, count) for one in others)


def _is_long(flow: RecordedDataflow, tensor: int, count: int) -> bool:
    known = flow.tensors.get(tensor)
    return known is not None and known.type.shape[:1] == (count,)
