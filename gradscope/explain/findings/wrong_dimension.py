"""GS843: a softmax over the samples of a batch, told by what reads it sample by sample.

The surprise: nothing looks wrong. Values are between 0 and 1, gradients flow, and the loss falls; it is another one for
each size of the batch.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.module_builds import chosen_at
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import RecordedDataflow, dataflow
from gradscope.explain.findings.over_one_element import softmax_at
from gradscope.model.flow import FlowOperation
from gradscope.model.notice import OVER_BATCHED, OVER_ROWS
from gradscope.model.operation import base_name
from gradscope.model.site import Site

_SOFTMAX = ("_softmax", "_log_softmax", "_safe_softmax")
_ELEMENTWISE = ("log", "exp", "add", "sub", "mul", "div", "neg", "clamp", "clamp_min", "_to_copy", "native_dropout")
_VIEWS = ("view", "reshape", "_unsafe_view", "unsqueeze", "permute", "expand")
Shape = tuple[int, ...]


def softmax_over_batch(case: Case) -> Iterator[Cause]:
    """What it flags: a softmax over the first dimension of a matrix, whose rows are then read as distributions, or over
    the samples (or heads) of attention weights.

    Why: the rows are the samples of a batch. Over them, the values of one sample do not sum to 1, they depend on the
    other samples, and the loss on the size of the batch.

    Wrong:
        log_probability = torch.log_softmax(logits, dim=0)
        loss = torch.nn.functional.nll_loss(log_probability, label)

    Right:
        log_probability = torch.log_softmax(logits, dim=1)
        loss = torch.nn.functional.nll_loss(log_probability, label)

    Do instead: give softmax the dimension of the classes, dim=-1 or dim=1.

    How it is found: each time a line's softmax ran over the rows of a matrix that was not square, and what came of it
    went row by row into an NLL loss, a gather, a logsumexp, a weighted sum or a batched product. Of more dimensions: it
    ran over one before the last two, and what came of it is multiplied, matrix by matrix along this one. A hint.
    """
    noticed = {notice.site for notice in case.notices() if notice.what in (OVER_ROWS, OVER_BATCHED)}
    flow = dataflow(case)
    said: set[Site | None] = {None}
    for operation in flow.operations if noticed - said else ():
        site = operation.site
        if site in said or site not in noticed or operation.backward is not None:
            continue
        reader = _reads_by_row(flow, operation) if base_name(operation.operation.name) in _SOFTMAX else None
        if reader is not None and site is not None:
            said.add(site)
            node = softmax_at(case, site)
            place, called = (site, ()) if node is None else chosen_at(case, node)
            yield Cause(_message(_shape(flow, operation), reader), place, called, op=operation.operation.name)


def _message(shape: Shape, reader: str) -> str:
    if len(shape) == 2:
        return (
            f"this softmax runs over the {shape[0]} samples of a batch: {reader} then takes each sample's values for a "
            "distribution"
        )
    return (
        f"this softmax of {list(shape)} runs over samples or heads: {reader} then multiplies each one's last two "
        "dimensions, in which the weights do not sum to 1"
    )


def _shape(flow: RecordedDataflow, operation: FlowOperation) -> Shape:
    return flow.tensors[operation.makes[0]].type.shape


def _reads_by_row(flow: RecordedDataflow, softmax: FlowOperation) -> str | None:
    """The operator that takes each row of a softmax's result for itself; None where none is known to."""
    if not softmax.makes or not any(one.requires_grad for one in softmax.reads):
        return None
    shape = _shape(flow, softmax)
    if len(shape) == 2 and shape[0] == shape[1]:  # what is a row cannot be told
        return None
    same = _same_rows(shape)
    waiting, seen = list(softmax.makes), set(softmax.makes)
    while waiting:
        tensor = waiting.pop()
        for at in flow.readers.get(tensor, ()):
            operation = flow.operations[at]
            if operation.backward is not None or not operation.makes:
                continue
            name, made = base_name(operation.operation.name), _shape(flow, operation)
            read = flow.tensors[tensor].type.shape
            if (_is_by_row if len(shape) == 2 else _is_batched)(flow, operation, read, made):
                return name
            if name in (*_ELEMENTWISE, *_VIEWS) and made in same and operation.makes[0] not in seen:
                seen.add(operation.makes[0])
                waiting.append(operation.makes[0])
    return None


def _same_rows(shape: Shape) -> set[Shape]:
    """The forms in which a softmax's result is still the same, row by row or matrix by matrix."""
    if len(shape) == 2:
        return {shape, (shape[0], 1, shape[1]), (*shape, 1)}
    *lead, rows, columns = shape
    return {shape, (math.prod(lead), rows, columns), (*shape, 1), (*lead, rows, 1, columns)}


def _is_batched(flow: RecordedDataflow, operation: FlowOperation, read: Shape, made: Shape) -> bool:
    """Whether an operator multiplies matrices one by one, of which what it reads has its last two dimensions."""
    return base_name(operation.operation.name) == "bmm" and len(read) == 3


def _is_by_row(flow: RecordedDataflow, operation: FlowOperation, read: Shape, made: Shape) -> bool:
    """Whether an operator reduces what it reads, whose first dimension is the softmax's rows, to one result a row."""
    name, rows = base_name(operation.operation.name), read[0]
    if name == "nll_loss_forward":
        return True
    if name == "gather":
        return made == (rows, 1)
    if name == "logsumexp":
        return made in ((rows,), (rows, 1))
    if name == "bmm":
        return len(read) == 3
    return name == "mul" and made[:1] == (rows,) and len(made) == 3 and _is_summed(flow, operation, (rows, made[2]))


def _is_summed(flow: RecordedDataflow, operation: FlowOperation, shape: Shape) -> bool:
    """Whether a product of weights and vectors is summed to a vector a row."""
    readers = (flow.operations[at] for at in flow.readers.get(operation.makes[0], ()))
    return any(base_name(one.operation.name) == "sum" and _shape(flow, one) == shape for one in readers if one.makes)
