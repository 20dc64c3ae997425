"""GS855: a view that puts dimensions in another order, which a view cannot do.

The surprise: it may. Any shape of as many elements is allowed, and its rows are cut together from several others.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import RecordedDataflow, dataflow
from gradscope.explain.evidence.forms import RESHAPES
from gradscope.model.flow import FlowOperation
from gradscope.model.operation import base_name
from gradscope.model.site import Site

_SLICES = ("slice", "narrow")
_FEWEST = 2  # calls that agree
Shape = tuple[int, ...]


def dimensions_turned(case: Case) -> Iterator[Cause]:
    """What it flags: a view whose result has the sizes of other dimensions merged, one of them in another place.

    Why: a view or reshape leaves the order in memory as it is: it merges neighbours, or splits a dimension. Where
    (batch, channels, time, width) becomes (batch, time, channels * width), or the channels of an image become the last
    dimension of logits, the sizes fit, and each row is cut together from several positions.

    Wrong:
        logits = net(image).view(-1, classes)    # of batch, classes, height, width

    Right:
        logits = net(image).permute(0, 2, 3, 1).reshape(-1, classes)

    Do instead: permute the dimensions first, so that those which are merged stand side by side.

    How it is found: in each call that was followed, merging neighbours does not give the result's sizes, and it does
    once one dimension is moved. Nothing is said where groups may have been folded into the first dimension, or taken
    out of it, as windows of a sequence are, unless all sizes are there in another order. Of data, which has no
    gradient, only that is told, and only in a module; nothing of two views around a slice, which shift rows against
    each other. A hint: sizes may agree by chance.
    """
    flow = dataflow(case)
    views: dict[tuple[Site, str], list[tuple[Shape, Shape, str]]] = defaultdict(list)
    for operation in flow.operations:
        site, name, module = operation.site, operation.operation.name, operation.operation.module
        viewed = operation.backward is None and base_name(name) in RESHAPES and operation.makes
        if viewed and site is not None and not _shifts(flow, operation):
            shapes = flow.shape(operation.reads[0].tensor), flow.shape(operation.makes[0])
            is_data = not any(one.requires_grad for one in operation.reads)
            if is_data and (module is None or not _exchanges(*shapes)):
                continue  # how data lies in memory is its own affair
            views[site, module.module_class if module else ""].append((*shapes, name))
    for (site, _), calls in views.items():
        before, after, name = calls[0]
        if len(calls) >= _FEWEST and all(_moved(*shapes) is not None for *shapes, _ in calls):
            message = f"this view makes {list(after)} of {list(before)}, as if the dimension of "
            message += f"{_moved(before, after)} had been moved: what it takes for a row is cut together from several"
            yield Cause(message, site, certain=False, op=name)


def _shifts(flow: RecordedDataflow, view: FlowOperation) -> bool:
    """Whether a view and another one stand around a slice: rows are shifted against each other so, each by one more."""
    after = (made for at in _slices(flow, flow.readers, view.makes) for made in flow.operations[at].makes)
    before = (one.tensor for at in _slices(flow, flow.makers, _read(view)) for one in flow.operations[at].reads)
    beyond = [at for tensor in after for at in flow.readers.get(tensor, ())]
    beyond += [at for tensor in before for at in flow.makers.get(tensor, ())]
    return any(base_name(flow.operations[at].operation.name) in RESHAPES for at in beyond)


def _slices(flow: RecordedDataflow, ways: Mapping[int, list[int]], tensors: Iterable[int]) -> list[int]:
    found = (at for tensor in tensors for at in ways.get(tensor, ()))
    return [at for at in found if base_name(flow.operations[at].operation.name) in _SLICES]


def _read(view: FlowOperation) -> list[int]:
    return [one.tensor for one in view.reads]


def _moved(before: Shape, after: Shape) -> int | None:
    """The size of the one dimension that must be moved before merging neighbours gives a shape; None where none must
    be, or where that is not enough."""
    sizes, wanted = [one for one in before if one != 1], [one for one in after if one != 1]
    while sizes and wanted and sizes[0] == wanted[0]:
        sizes, wanted = sizes[1:], wanted[1:]
    if not wanted or len(wanted) > len(sizes) or _merges(sizes, wanted):
        return None
    if _may_be_folded(sizes, wanted) and not _exchanges(before, after):
        return None
    for at, size in enumerate(sizes):
        others = sizes[:at] + sizes[at + 1 :]
        places = (place for place, one in enumerate(wanted) if one == size)
        if sizes.count(size) == 1 and any(_merges(others, wanted[:at] + wanted[at + 1 :]) for at in places):
            return size
    return None


def _exchanges(before: Shape, after: Shape) -> bool:
    """Whether the sizes behind the first are all there, in another order."""
    return len(before) > 2 and before[0] == after[0] and sorted(before) == sorted(after) and before != after


def _may_be_folded(sizes: list[int], wanted: list[int]) -> bool:
    """Whether groups that stand in the first dimension may be taken out of it, or as many dimensions put into it."""
    folds = len(sizes) == len(wanted) and wanted[0] % sizes[0] == 0
    return folds or sizes[0] % wanted[0] == 0


def _merges(sizes: list[int], wanted: list[int]) -> bool:
    """Whether merging neighbours gives these sizes."""
    found, ends = 1, [math.prod(wanted[: end + 1]) for end in range(len(wanted))]
    for size in sizes:
        found *= size
        if ends and found == ends[0]:
            ends.pop(0)
    return not ends and found == math.prod(wanted)
