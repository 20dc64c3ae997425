"""Targets for each pair of a square that an operator broadcasts: then all are meant to be compared with all."""

from __future__ import annotations

from gradscope.explain.evidence.dataflow import RecordedDataflow
from gradscope.model.flow import FlowOperation
from gradscope.model.operation import base_name

_COLUMNS = ("unsqueeze", "view", "reshape")
_FAR = 8  # operators between such targets and the column that they were made of


def has_square_targets(flow: RecordedDataflow, operation: FlowOperation) -> bool:
    """Whether what an operator makes is read together with data of its shape, which the program made of a column in so
    many words: `(y[:, None] > thresholds)` beside `scores - thresholds`."""
    square = flow.shape(operation.makes[0])
    return len(square) > 1 and any(
        not read.requires_grad and flow.shape(read.tensor) == square and _is_of_a_column(flow, read.tensor, at)
        for at in flow.readers.get(operation.makes[0], ())
        for read in (flow.operations[at].reads if flow.operations[at].backward is None else ())
        if read.tensor != operation.makes[0]
    )


def _is_of_a_column(flow: RecordedDataflow, tensor: int, before: int) -> bool:
    """Whether data were computed of something that was made a column."""
    waiting, walked = [(tensor, before)], 0
    while waiting and walked < _FAR:
        one, until = waiting.pop(0)
        walked += 1
        for at in flow.sources(one, until):
            made = flow.operations[at]
            if base_name(made.operation.name) in _COLUMNS and flow.shape(made.makes[0])[1:] == (1,):
                return True
            waiting += [(read.tensor, at) for read in made.reads]
    return False
