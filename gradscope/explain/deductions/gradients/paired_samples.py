"""Operators that hold each sample of a batch against each other one, where all that is used of it is a sum.

A column of a batch and a row of it broadcast to a square: torch's distributions do so as subtractions do.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gradscope.explain.deductions.gradients.alike_pairs import LOSSES, WEIGHS, Pairs, counts_alike, in_distributions
from gradscope.explain.evidence.dataflow import RecordedDataflow, reads_shape_only
from gradscope.model.flow import FlowOperation, Read
from gradscope.model.operation import Operation, base_name
from gradscope.model.site import Origin

_COMPARES = ("sub", "rsub", *LOSSES)
_CHOOSES = ("where", "masked_fill", "maximum", "minimum")
_SUMS = ("add",)  # of data, as in the target of a critic
_EXPANDED = ("expand", "slice", "alias")  # what keeps the place of each dimension
_RESHAPES = ("unsqueeze", "view", "reshape", "_unsafe_view", "expand")
_TURNS = ("t", "transpose", "permute", "numpy_T")
_ROWS = ("squeeze", "view", "_unsafe_view", "reshape", "select")
_BEHIND = 400  # tensors that are looked at for the batch that something was computed of


@dataclass(frozen=True, slots=True)
class PairedSamples:
    """An operator that compares so many samples with as many, or weighs or chooses them, and the sizes of both."""

    operation: FlowOperation
    column: tuple[int, ...]
    row: tuple[int, ...]
    made: tuple[int, ...]

    @property
    def shapes(self) -> str:
        """What becomes of both."""
        return f"{list(self.column)} against {list(self.row)} gives {list(self.made)}"

    @property
    def meaning(self) -> str:
        """What that comes to."""
        name = base_name(self.operation.operation.name)
        if name in _CHOOSES:
            return "what chooses for one sample chooses for all"
        if name in WEIGHS or not self.operation.operation.grad:
            return "each sample is weighted with the weights of all"
        return "each sample is compared with the predictions for all"


def paired_samples(flow: RecordedDataflow) -> Iterator[PairedSamples]:
    """Where data meet what was computed of a batch, each sample each, and only their sum counts."""
    for at, operation in enumerate(flow.operations):
        found = _paired(flow, at, operation) if _may_pair(flow, operation) else None
        if found is not None:
            yield found


def _may_pair(flow: RecordedDataflow, operation: FlowOperation) -> bool:
    """Whether an operator makes a square of a batch: nearly all are told apart here."""
    if operation.backward is not None or len(operation.reads) < 2 or len(operation.makes) != 1:
        return False
    made = flow.shape(operation.makes[0])
    if len(made) < 2 or made[0] < 2 or made[0] not in made[1:]:
        return False
    name = base_name(operation.operation.name)
    known = name in (*_COMPARES, *_CHOOSES, *WEIGHS) or in_distributions(operation.operation)
    return known or (name in _SUMS and not any(one.requires_grad for one in operation.reads))


def _paired(flow: RecordedDataflow, at: int, operation: FlowOperation) -> PairedSamples | None:
    """The column and the row that an operator reads, of which one is data and the other was computed of as many."""
    reads = [_before_expanding(flow, read, at) for read in operation.reads]
    made = flow.shape(operation.makes[0])
    ranks = {len(flow.shape(read.tensor)) for read in reads} - {0}
    if len(ranks) != 2:
        return None
    place, count = max(ranks) - min(ranks), made[0]
    columns = [one for one in reads if len(flow.shape(one.tensor)) == max(ranks)]
    rows = [one for one in reads if len(flow.shape(one.tensor)) == min(ranks)]
    pairs, high, low = Pairs(count, place), flow.shape(columns[0].tensor), flow.shape(rows[0].tensor)
    if not pairs.are_in(made) or (high[0], high[place], low[0]) != (count, 1, count):
        return None
    if not _belong_together(flow, columns, rows, at, count) or not counts_alike(
        flow, operation, pairs, not any(one.requires_grad for one in reads)
    ):
        return None
    return PairedSamples(operation, high, low, made)


def _belong_together(flow: RecordedDataflow, columns: list[Read], rows: list[Read], before: int, count: int) -> bool:
    """Whether data are held against what was computed of a batch, and nobody made a column of these on purpose."""
    if any(_is_made_a_column(flow, one, before) or meets_itself(flow, one) for one in columns):
        return False
    of_columns, of_rows = ([one for one in side if one.requires_grad] for side in (columns, rows))
    if of_columns and of_rows:
        return False
    if of_columns or of_rows:
        return _is_of_a_batch(flow, (of_columns or of_rows)[0], before, count)
    return any(_is_learned(flow, one, before) and _is_of_a_batch(flow, one, before, count) for one in columns + rows)


def meets_itself(flow: RecordedDataflow, column: Read) -> bool:
    """Whether a column meets the row that it is turned to, or made: then all are held against all on purpose."""
    turned = [(flow.shape(column.tensor)[::-1], _TURNS), (_as_row(flow.shape(column.tensor)), _ROWS)]
    readers = (flow.operations[at] for at in flow.readers.get(column.tensor, ()))
    return any(
        one.backward is None
        and any(flow.shape(one.makes[0]) == shape and base_name(one.operation.name) in names for shape, names in turned)
        and any(
            column.tensor in {read.tensor for read in flow.operations[at].reads}
            for at in flow.readers.get(one.makes[0], ())
        )
        for one in readers
    )


def _as_row(column: tuple[int, ...]) -> tuple[int, ...]:
    return column[:1] + column[2:]


def _before_expanding(flow: RecordedDataflow, read: Read, before: int) -> Read:
    """What a tensor was before torch expanded it, or took a part of it, by itself."""
    while (maker := flow.maker(read.tensor, before)) is not None:
        made = flow.operations[maker]
        is_expanded = base_name(made.operation.name) in _EXPANDED and len(made.reads) == 1
        if not is_expanded or not _is_of_torch(made.operation):
            break
        read, before = made.reads[0], maker
    return read


def _is_of_torch(operation: Operation) -> bool:
    """Whether code of torch asked for an operator, and not the program itself."""
    return bool(operation.stack) and operation.stack[0].origin is not Origin.USER


def _is_made_a_column(flow: RecordedDataflow, column: Read, before: int) -> bool:
    """Whether the program made a column of something in so many words: it means to compare all with all."""
    read = column
    while (maker := flow.maker(read.tensor, before)) is not None:
        made = flow.operations[maker]
        if base_name(made.operation.name) not in _RESHAPES or len(made.reads) != 1:
            return False
        if not _is_of_torch(made.operation):
            return True
        read, before = made.reads[0], maker
    return False


def _is_of_a_batch(flow: RecordedDataflow, learned: Read, before: int, count: int) -> bool:
    """Whether data of so many samples went into a value: as many parameters may be there by chance."""
    for read in _behind(flow, learned, before):
        shape = flow.shape(read.tensor)
        is_data = len(shape) > 1 or flow.is_whole(read.tensor)
        if not read.requires_grad and is_data and shape[:1] == (count,):
            return True
    return False


def _is_learned(flow: RecordedDataflow, read: Read, before: int) -> bool:
    """Whether something that requires grad went into a value."""
    return any(one.requires_grad for one in (read, *_behind(flow, read, before)))


def _behind(flow: RecordedDataflow, read: Read, before: int) -> Iterator[Read]:
    """What a value was computed of, the nearest last."""
    waiting, seen = [(read.tensor, before)], {read.tensor}
    while waiting and len(seen) < _BEHIND:
        tensor, until = waiting.pop()
        for at in flow.sources(tensor, until):
            for one in () if reads_shape_only(flow.operations[at]) else flow.operations[at].reads:
                yield one
                if one.tensor not in seen:
                    seen.add(one.tensor)
                    waiting.append((one.tensor, at))
