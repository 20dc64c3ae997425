"""GS843: a softmax over the samples of a batch, told by what reads it sample by sample.

The surprise: nothing looks wrong. Values are between 0 and 1, gradients flow, and the loss falls; it is another one for
each size of the batch.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.lines.module_builds import chosen_at
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import RecordedDataflow, dataflow
from gradscope.explain.findings.sizes.over_one_element import softmax_at
from gradscope.model.flow import FlowOperation
from gradscope.model.notice import OVER_BATCHED, OVER_MIDDLE, OVER_ROWS
from gradscope.model.operation import base_name
from gradscope.model.site import Site

_SOFTMAX = ("_softmax", "_log_softmax", "_safe_softmax")
_ELEMENTWISE = ("log", "exp", "add", "sub", "mul", "div", "neg", "clamp", "clamp_min", "_to_copy", "native_dropout")
_VIEWS = ("view", "reshape", "_unsafe_view", "unsqueeze", "permute", "expand")
_JOINS = ("slice", "alias", "stack", "cat", "split", "squeeze")  # which leave the last dimension the last
_LINEAR = ("addmm", "mm", "linear")
_SUMS = ("sum", "logsumexp")
Shape = tuple[int, ...]


def softmax_over_batch(case: Case) -> Iterator[Cause]:
    """What it flags: a softmax over the first dimension of a matrix, whose rows are then read as distributions; over
    the samples (or heads) of attention weights; or over samples where the features of a linear layer come last.

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
    ran over one before the last two, and what came of it is multiplied, matrix by matrix along this one, or weighs rows
    that are added up in each matrix; or a log_softmax ran over the last but one of what a linear layer gave, and what
    came of it is summed over the last first. A hint.
    """
    noticed = {one.site: one.what for one in case.notices() if one.what in (OVER_ROWS, OVER_BATCHED, OVER_MIDDLE)}
    flow = dataflow(case)
    said: set[Site | None] = {None}
    for at, operation in enumerate(flow.operations) if noticed.keys() - said else ():
        site = operation.site
        if site in said or site not in noticed or operation.backward is not None:
            continue
        if base_name(operation.operation.name) not in _SOFTMAX:
            continue
        middle = noticed[site] == OVER_MIDDLE
        reader = _sums_features(flow, at) if middle else _reads_by_row(flow, operation)
        if reader is not None and site is not None:
            said.add(site)
            node = softmax_at(case, site)
            place, called = (site, ()) if node is None else chosen_at(case, node)
            message = (_message_of_sums if middle else _message)(_shape(flow, operation), reader)
            yield Cause(message, place, called, op=operation.operation.name)


def _message(shape: Shape, reader: str) -> str:
    if len(shape) == 2:
        return (
            f"this softmax runs over the {shape[0]} samples of a batch: {reader} then takes each sample's values for a "
            "distribution"
        )
    if reader == "mul":
        return f"this softmax of {list(shape)} runs over samples: each one's {shape[1]} weights do not sum to 1"
    return (
        f"this softmax of {list(shape)} runs over samples or heads: {reader} then multiplies each one's last two "
        "dimensions, in which the weights do not sum to 1"
    )


def _message_of_sums(shape: Shape, reader: str) -> str:
    return (
        f"this softmax of {list(shape)} runs over {shape[-2]} rows of what a linear layer gave, and {reader} then adds "
        f"up its {shape[-1]} features: over these the probabilities do not sum to 1"
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


def _sums_features(flow: RecordedDataflow, at: int) -> str | None:
    """The operator that adds up the features of a linear layer first, where a log_softmax ran over its rows."""
    softmax = flow.operations[at]
    shape = _shape(flow, softmax)
    named = base_name(softmax.operation.name) == "_log_softmax" and any(one.requires_grad for one in softmax.reads)
    if not named or shape[-1] in (1, shape[-2]) or not _ends_in_features(flow, softmax.reads[0].tensor, at):
        return None
    waiting, seen = list(softmax.makes), set(softmax.makes)
    while waiting:
        for reader in flow.readers.get(waiting.pop(), ()):
            operation = flow.operations[reader]
            if operation.backward is None and operation.makes:
                name, made = base_name(operation.operation.name), _shape(flow, operation)
                if name in _SUMS and made in (shape[:-1], (*shape[:-1], 1)):
                    return name
                if name in _ELEMENTWISE and made == shape and operation.makes[0] not in seen:
                    seen.add(operation.makes[0])
                    waiting.append(operation.makes[0])
    return None


def _ends_in_features(flow: RecordedDataflow, tensor: int, before: int) -> bool:
    """Whether the last dimension of a tensor is that of what linear layers gave: nothing has turned it since."""
    waiting, seen, found = [(tensor, before)], {tensor}, False
    while waiting:
        one, until = waiting.pop()
        for at in flow.sources(one, until):
            operation = flow.operations[at]
            name = base_name(operation.operation.name)
            if name in _LINEAR:
                found = True
            elif name in (*_ELEMENTWISE, *_VIEWS, *_JOINS) and name != "permute":
                new = [read.tensor for read in operation.reads if read.requires_grad and read.tensor not in seen]
                seen.update(new)
                waiting += [(read, at) for read in new]
            else:
                return False
    return found


def _same_rows(shape: Shape) -> set[Shape]:
    """The forms in which a softmax's result is still the same, row by row or matrix by matrix."""
    if len(shape) == 2:
        return {shape, (shape[0], 1, shape[1]), (*shape, 1)}
    *lead, rows, columns = shape
    return {shape, (math.prod(lead), rows, columns), (*shape, 1), (*lead, rows, 1, columns)}


def _is_batched(flow: RecordedDataflow, operation: FlowOperation, read: Shape, made: Shape) -> bool:
    """Whether an operator multiplies matrices one by one, of which what it reads has its last two dimensions, or adds
    up what it weighs in each of them."""
    name = base_name(operation.operation.name)
    if name == "mul" and len(read) == len(made) == 3 and read[0] != read[1] and read[2] == 1:  # a weight for each row
        return made[:2] == read[:2] and _is_summed(flow, operation, (read[0], made[2]))
    return name == "bmm" and len(read) == 3


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
