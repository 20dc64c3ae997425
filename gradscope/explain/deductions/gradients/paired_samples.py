"""Operators that hold each sample of a batch against each other one, where all that is used of it is a sum.

A column of a batch and a row of it broadcast to a square: torch's distributions do so as subtractions do.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gradscope.explain.evidence.dataflow import RecordedDataflow, reads_shape_only
from gradscope.model.flow import FlowOperation, Read
from gradscope.model.operation import Operation, base_name
from gradscope.model.site import Origin

_DIFFERENCES = ("sub", "rsub", "mse_loss", "smooth_l1_loss", "huber_loss")
_DISTRIBUTIONS = "torch/distributions/"
_EXPANDED = ("expand", "slice", "alias")  # what keeps the place of each dimension
_RESHAPES = ("unsqueeze", "view", "reshape", "_unsafe_view", "expand")
_POWERS = ("pow", "abs", "square")  # of a difference, on its way to a loss
_LINEAR = ("add", "sub", "rsub", "neg", "mul", "div", "sum", "mean")
_FAR = 32  # operators that a value may go through on its way to one number
_BEHIND = 400  # tensors that are looked at for the batch that something was computed of


@dataclass(frozen=True, slots=True)
class PairedSamples:
    """An operator that compares so many samples with as many, of the sizes of what it reads."""

    operation: FlowOperation
    column: tuple[int, ...]
    row: tuple[int, ...]

    @property
    def shapes(self) -> str:
        """What becomes of both."""
        count = self.row[0]
        return f"{list(self.column)} against {list(self.row)} gives {[count, count, *self.row[1:]]}"


def paired_samples(flow: RecordedDataflow) -> Iterator[PairedSamples]:
    """Where data are compared with what was computed of a batch, each sample with each, and only their sum counts."""
    for at, operation in enumerate(flow.operations):
        found = _paired(flow, at, operation) if _may_pair(flow, operation) else None
        if found is not None and _is_summed_up(flow, operation, found.row[0]):
            yield found


def _may_pair(flow: RecordedDataflow, operation: FlowOperation) -> bool:
    """Whether an operator makes a square of a batch: nearly all are told apart here."""
    if operation.backward is not None or len(operation.reads) != 2 or len(operation.makes) != 1:
        return False
    made = flow.shape(operation.makes[0])
    if len(made) < 2 or made[0] < 2:
        return False
    name = base_name(operation.operation.name)
    square = made[0] == made[1] and operation.operation.grad
    return square and (name in _DIFFERENCES or _in_distributions(operation.operation))


def _in_distributions(operation: Operation) -> bool:
    return any(_DISTRIBUTIONS in site.file.replace("\\", "/") for site in operation.stack)


def _paired(flow: RecordedDataflow, at: int, operation: FlowOperation) -> PairedSamples | None:
    """The column and the row that an operator reads, of which one is data and the other was computed of as many."""
    reads = [_before_expanding(flow, read, at) for read in operation.reads]
    column, row = sorted(reads, key=lambda read: len(flow.shape(read.tensor)), reverse=True)
    high, low = flow.shape(column.tensor), flow.shape(row.tensor)
    if not low or len(high) != len(low) + 1 or high[:2] != (low[0], 1) or low[0] != flow.shape(operation.makes[0])[0]:
        return None
    learned = [one for one in (column, row) if one.requires_grad]
    if len(learned) != 1 or not _is_of_a_batch(flow, learned[0], at, low[0]) or _is_made_a_column(flow, column, at):
        return None
    return PairedSamples(operation, high, low)


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
    waiting, seen = [(learned.tensor, before)], {learned.tensor}
    while waiting and len(seen) < _BEHIND:
        tensor, until = waiting.pop()
        for at in flow.sources(tensor, until):
            for read in () if reads_shape_only(flow.operations[at]) else flow.operations[at].reads:
                shape = flow.shape(read.tensor)
                is_data = len(shape) > 1 or flow.is_whole(read.tensor)
                if not read.requires_grad and is_data and shape[:1] == (count,):
                    return True
                if read.tensor not in seen:
                    seen.add(read.tensor)
                    waiting.append((read.tensor, at))
    return False


def _is_summed_up(flow: RecordedDataflow, operation: FlowOperation, count: int) -> bool:
    """Whether each pair counts alike: a distribution, or a power, makes one value of each, and these are added up."""
    waiting, seen, numbers = list(operation.makes), set(operation.makes), 0
    while waiting and len(seen) < _FAR:
        readers = (flow.operations[at] for at in flow.readers.get(waiting.pop(), ()))
        forward = [one for one in readers if one.backward is None]
        if not forward:
            return False
        for one in forward:
            made = [flow.shape(tensor) for tensor in one.makes if tensor in flow.tensors]
            beside = [flow.shape(read.tensor)[:2] for read in one.reads if read.tensor not in seen]
            if len(made) != 1 or not _counts_alike(one, made[0], count, (count, count) in beside):
                return False
            numbers += made[0] == ()
            waiting += [tensor for tensor in one.makes if tensor not in seen and made[0]]
            seen.update(one.makes)
    return numbers > 0 and not waiting


def _counts_alike(operation: FlowOperation, made: tuple[int, ...], count: int, weighs_pairs: bool) -> bool:
    """Whether an operator makes one value of each pair, or adds pairs up; none has a weight of its own."""
    name = base_name(operation.operation.name)
    is_inside = _in_distributions(operation.operation)
    one_of_each = made[:2] == (count, count) and (is_inside or name in _POWERS)
    return one_of_each or (name in _LINEAR and not weighs_pairs)
