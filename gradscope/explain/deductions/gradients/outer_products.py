"""A column of predictions and a row of as many data, of which an operator makes a square.

A loss of torch's does the same, and expands both to the square before: what its operator reads shows neither.
"""

from __future__ import annotations

from dataclasses import dataclass

from gradscope.explain.deductions.gradients.alike_pairs import Pairs, counts_alike
from gradscope.explain.deductions.gradients.paired_samples import meets_itself
from gradscope.explain.evidence.dataflow import RecordedDataflow
from gradscope.model.flow import FlowOperation, Read
from gradscope.model.operation import base_name

_LOSSES, _EXPANDS = ("mse_loss", "smooth_l1_loss", "huber_loss"), "broadcast_tensors"
_DIFFERENCES, _WEIGHTS = ("sub", *_LOSSES), ("mul", "div")
_SUMS = ("add", "sub")
_BROADCASTS = frozenset([*_DIFFERENCES, *_WEIGHTS, *_SUMS])
_RESHAPES = ("unsqueeze", "view", "reshape", "expand")


@dataclass(frozen=True, slots=True)
class Outer:
    """A column of so many samples and a row of as many. `is_compared`: predictions and what they are held against."""

    count: int
    is_compared: bool

    @property
    def shapes(self) -> str:
        """What an operator makes of both."""
        return f"[{self.count}, 1] against [{self.count}] gives [{self.count}, {self.count}]"


def outer(flow: RecordedDataflow, at: int, operation: FlowOperation) -> Outer | None:
    """What an operator broadcasts, which nobody made a column of in so many words."""
    name = base_name(operation.operation.name)
    if name not in _BROADCASTS or len(operation.reads) != 2 or len(operation.makes) != 1:
        return None
    reads = _before_expanding(flow, at, operation)
    full = operation.makes[0] if tuple(reads) == tuple(operation.reads) else operation.reads[0].tensor
    known = [flow.tensors.get(one) for one in (*(read.tensor for read in reads), full)]
    first, second, made = (None if one is None else one.type.shape for one in known)
    column_first = first is not None and len(first) == 2
    column, row = (first, second) if column_first else (second, first)
    if not row or column != (*row, 1) or made != (*row, *row) or row[0] < 2:
        return None
    of_column, of_row = reads if column_first else reversed(reads)
    compared = name in _DIFFERENCES and of_column.requires_grad and not of_row.requires_grad
    compared = compared and not meets_itself(flow, of_column) and counts_alike(flow, operation, Pairs(row[0]))
    compared = compared or (name in _SUMS and _meets_a_column(flow, operation.makes[0], column))
    weighted = name in _WEIGHTS and (of_column.requires_grad or of_row.requires_grad)
    makers = (flow.operations[maker] for maker in flow.sources(of_column.tensor, at))
    if not (compared or weighted) or all(base_name(one.operation.name) in _RESHAPES for one in makers):
        return None
    return Outer(row[0], compared)


def _meets_a_column(flow: RecordedDataflow, made: int, column: tuple[int, ...]) -> bool:
    """Whether targets, made of a row and a column, are compared with a column that requires grad."""
    readers = [flow.operations[at] for at in flow.readers.get(made, ())]
    compared = (one for one in readers if one.backward is None and base_name(one.operation.name) in _DIFFERENCES)
    reads = [read for one in compared for read in one.reads]
    targets = [read for read in reads if read.tensor == made]
    return any(not one.requires_grad for one in targets) and any(
        one.requires_grad and flow.shape(one.tensor) == column for one in reads if one.tensor != made
    )


def _before_expanding(flow: RecordedDataflow, at: int, operation: FlowOperation) -> list[Read]:
    """What a loss of torch's was given, which expands its arguments to one shape by itself; else what it read."""
    reads = list(operation.reads)
    known = [flow.tensors.get(read.tensor) for read in reads]
    shapes = {None if one is None else one.type.shape for one in known}
    square = next(iter(shapes)) if len(shapes) == 1 else None
    if square is None or len(square) != 2 or square[0] != square[1]:  # as nearly all: nothing is walked for them
        return reads
    for place, read in enumerate(reads):
        maker = flow.maker(read.tensor, at)
        made = None if maker is None else flow.operations[maker]
        if made is not None and made.reads and any(site.function == _EXPANDS for site in made.operation.stack):
            reads[place] = made.reads[0]
    return reads
