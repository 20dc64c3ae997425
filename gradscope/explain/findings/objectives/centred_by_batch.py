"""GS750: the parts of each sample, centred by the mean over all samples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import RecordedDataflow, dataflow
from gradscope.model.flow import FlowOperation, Read
from gradscope.model.operation import base_name

_TIMES = 3
_MEAN = "aten.mean.default"  # over all dimensions
_DIMENSIONS = (2, 3)  # samples and actions; these and the atoms of a distribution


def centred_by_batch(case: Case) -> Iterator[Cause]:
    """What it flags: a value of each sample and its parts are added up, and the mean of the parts of all samples is
    subtracted, as in a dueling network.

    Why: the mean is to split each sample into a value and what its actions differ by from that. Taken over the whole
    batch it is one number: the split stays open, and what a sample is given, and its gradient, depends on the others
    that happen to be in its batch. Alone, as when it acts, the network gives other values than it was trained for.

    Wrong:
        q = value + advantage - advantage.mean()

    Right:
        q = value + advantage - advantage.mean(dim=1, keepdim=True)

    Do instead: take the mean over the actions, of each sample by itself: mean(dim=1, keepdim=True).

    How it is found: in three forwards or more of several samples, mean() over all dimensions of what a layer gave is
    subtracted from this, and to the same another one is added that has one number where this has several. A hint: the
    mean of a batch may be meant.
    """
    flow = dataflow(case)
    times = Counter(
        operation.site
        for operation in flow.operations
        if operation.operation.name == _MEAN and operation.backward is None and _centres(flow, operation)
    )
    for site, count in times.items():
        if site is not None and count >= _TIMES:
            yield Cause(
                "this is one mean over all samples of the batch, and is subtracted from the parts of each: what a "
                "sample is given depends on the others",
                site,
                certain=False,
            )


def _centres(flow: RecordedDataflow, mean: FlowOperation) -> bool:
    """Whether a mean is subtracted from what it was taken of, to which the value of each sample is added."""
    parts = mean.reads[0] if mean.reads else None
    if parts is None or parts.leaf or not parts.requires_grad or not mean.makes:
        return False
    shape = flow.shape(parts.tensor)
    if len(shape) not in _DIMENSIONS or shape[0] < 2:
        return False
    readers = [(at, flow.operations[at]) for at in flow.readers.get(mean.makes[0], ())]
    return any(_is_centred(flow, at, one, parts, mean.makes[0]) for at, one in readers if one.backward is None)


def _is_centred(flow: RecordedDataflow, at: int, operation: FlowOperation, parts: Read, mean: int) -> bool:
    """Whether an operator subtracts the mean of parts from them, before or after the value is added."""
    read = [one.tensor for one in operation.reads]
    if base_name(operation.operation.name) != "sub" or len(read) != 2 or read[1] != mean or not operation.makes:
        return False
    if read[0] == parts.tensor:
        sums = [flow.operations[later] for later in flow.readers.get(operation.makes[0], ())]
        return any(_adds_value(flow, one, operation.makes[0]) for one in sums if one.backward is None)
    made = flow.maker(read[0], at)
    return made is not None and _adds_value(flow, flow.operations[made], parts.tensor)


def _adds_value(flow: RecordedDataflow, operation: FlowOperation, parts: int) -> bool:
    """Whether an operator adds to parts something learned that has one number for all parts of a sample."""
    if base_name(operation.operation.name) != "add" or parts not in [one.tensor for one in operation.reads]:
        return False
    whole = flow.shape(parts)
    values = [one for one in operation.reads if one.tensor != parts and one.requires_grad and not one.leaf]
    return any(_is_one_of_each(flow.shape(one.tensor), whole) for one in values)


def _is_one_of_each(value: tuple[int, ...], parts: tuple[int, ...]) -> bool:
    """Whether a shape is that of the parts with 1 in the place of how many there are of each sample."""
    unlike = [at for at, (own, other) in enumerate(zip(value, parts, strict=False)) if own != other]
    return len(value) == len(parts) and len(unlike) == 1 and unlike[0] > 0 and value[unlike[0]] == 1
