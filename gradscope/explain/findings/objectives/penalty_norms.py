"""GS882: a penalty of the slope of a critic whose norm leaves some of a sample's dimensions out."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import RecordedDataflow, dataflow
from gradscope.model.flow import FlowEnd, FlowOperation
from gradscope.model.operation import base_name
from gradscope.model.site import Site

_TIMES = 2
_NORMS = ("norm", "linalg_vector_norm")
_ROOT, _SUMS, _SQUARES = "sqrt", ("sum",), ("pow", "mul", "square")
_LESS = ("sub", "add")  # the slope that is wanted
Shape = tuple[int, ...]


def norm_of_a_part(case: Case) -> Iterator[Cause]:
    """What it flags: the slope of a function that gives one number for each sample is held at a length, and its length
    is taken over one dimension of a sample only.

    Why: the gradient of a critic at an image, or at a sequence, is a vector of all its numbers, and its length is over
    all of them. norm(dim=1) of (samples, channels, height, width) gives a length at each position: each of them is
    driven to 1, and the slope to the root of their number.

    Wrong:
        (slope,) = torch.autograd.grad(critic(x).sum(), x, create_graph=True)
        penalty = (slope.norm(2, dim=1) - 1).square().mean()

    Right:
        (slope,) = torch.autograd.grad(critic(x).sum(), x, create_graph=True)
        penalty = (slope.flatten(1).norm(2, dim=1) - 1).square().mean()

    Do instead: flatten what belongs to a sample before the norm, or give it all dimensions but the first.

    How it is found: what torch.autograd.grad() gave for samples of two or more dimensions, from one number for each of
    them, goes with its graph into a norm that leaves several numbers a sample, from which a number is subtracted. A
    hint.
    """
    flow = dataflow(case)
    lengths = [one for one in flow.operations if _may_be_length(one)]
    times: Counter[tuple[Site, Shape, Shape]] = Counter()
    for end in flow.ends if lengths else ():
        if end.target and _is_of_samples(flow, end):
            for operation in lengths:
                if operation.site is not None and _is_of_part(flow, operation, end):
                    times[operation.site, flow.shape(end.tensor), flow.shape(operation.makes[0])] += 1
    for (site, whole, part), count in times.items():
        if count >= _TIMES:
            yield Cause(
                f"this norm of {list(whole)} gives {list(part)}: {math.prod(part[1:])} lengths for each sample, where "
                "the function gives one number for each",
                site,
                certain=False,
            )
            return


def _is_of_samples(flow: RecordedDataflow, end: FlowEnd) -> bool:
    """Whether a derivative is that of one number for each sample, by samples of several dimensions."""
    shape = flow.shape(end.tensor)
    return len(shape) > 2 and shape[0] > 1 and any(math.prod(one) == shape[0] for one in _values(flow, end.backward))


def _values(flow: RecordedDataflow, backward: int) -> Iterator[Shape]:
    """The shapes of what a backward starts from, in front of a sum."""
    for root in flow.roots:
        if root.backward == backward:
            made = flow.maker(root.tensor, len(flow.operations))
            operation = None if made is None else flow.operations[made]
            is_sum = operation is not None and base_name(operation.operation.name) in _SUMS
            yield flow.shape(operation.reads[0].tensor if operation is not None and is_sum else root.tensor)


def _may_be_length(operation: FlowOperation) -> bool:
    named = operation.backward is None and base_name(operation.operation.name) in (*_NORMS, _ROOT)
    return named and bool(operation.makes) and operation.operation.grad


def _is_of_part(flow: RecordedDataflow, operation: FlowOperation, end: FlowEnd) -> bool:
    """Whether an operator takes the length of a derivative over a part of a sample, and a number is subtracted."""
    shape, part = flow.shape(end.tensor), flow.shape(operation.makes[0])
    is_part = part[:1] == shape[:1] and shape[0] < math.prod(part) < math.prod(shape)
    return is_part and _is_length(flow, operation, end) and _is_held(flow, operation)


def _is_length(flow: RecordedDataflow, operation: FlowOperation, end: FlowEnd) -> bool:
    """Whether an operator gives the norm of what a backward made, also as the root of a sum of squares."""
    given, before = operation.reads[0].tensor, len(flow.operations)
    for names in (_LESS, _SUMS, _SQUARES) if base_name(operation.operation.name) == _ROOT else ():
        at = flow.maker(given, before)
        name = "" if at is None else base_name(flow.operations[at].operation.name)
        if at is not None and name in names:
            given, before = flow.operations[at].reads[0].tensor, at
        elif names is not _LESS:  # a small number may be added
            return False
    at = flow.maker(given, before)
    return (
        at is not None and flow.operations[at].backward == end.backward and flow.shape(given) == flow.shape(end.tensor)
    )


def _is_held(flow: RecordedDataflow, operation: FlowOperation) -> bool:
    readers = (flow.operations[at] for at in flow.readers.get(operation.makes[0], ()))
    return any(base_name(one.operation.name) in _LESS and len(one.reads) == 1 for one in readers)
