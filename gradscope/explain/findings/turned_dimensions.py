"""GS855: a view that puts dimensions in another order, which a view cannot do.

The surprise: it may. Any shape of as many elements is allowed, and its rows are cut together from several others.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import dataflow
from gradscope.model.flow import FlowOperation
from gradscope.model.operation import base_name
from gradscope.model.site import Site

_VIEWS = ("view", "_unsafe_view", "_reshape_alias", "reshape")
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
    once one dimension is moved. A hint: sizes may agree by chance.
    """
    flow = dataflow(case)
    shapes: dict[tuple[Site, str], list[tuple[Shape, Shape, FlowOperation]]] = defaultdict(list)
    for operation in flow.operations:
        site = operation.site
        views = operation.backward is None and base_name(operation.operation.name) in _VIEWS
        if views and site is not None and operation.makes and any(one.requires_grad for one in operation.reads):
            read, made = flow.tensors.get(operation.reads[0].tensor), flow.tensors.get(operation.makes[0])
            if read is not None and made is not None:
                module = operation.operation.module
                within = "" if module is None else module.module_class
                shapes[site, within].append((read.type.shape, made.type.shape, operation))
    for (site, _), calls in shapes.items():
        turned = [call for call in calls if _moved(call[0], call[1]) is not None]
        if len(turned) == len(calls) >= _FEWEST:
            before, after, operation = calls[0]
            message = (
                f"this view makes {list(after)} of {list(before)}: it merges dimensions that do not stand side by "
            )
            message += f"by side, as if the one of {_moved(before, after)} had been moved"
            yield Cause(message, site, certain=False, op=operation.operation.name)


def _moved(before: Shape, after: Shape) -> int | None:
    """The size of the one dimension that must be moved before merging neighbours gives a shape; None where none must
    be, or where that is not enough."""
    sizes, wanted = [one for one in before if one != 1], [one for one in after if one != 1]
    if not 1 < len(wanted) <= len(sizes) or _merges(sizes, wanted):
        return None
    for at, size in enumerate(sizes):
        others = sizes[:at] + sizes[at + 1 :]
        places = (place for place, one in enumerate(wanted) if one == size)
        if sizes.count(size) == 1 and any(_merges(others, wanted[:at] + wanted[at + 1 :]) for at in places):
            return size
    return None


def _merges(sizes: list[int], wanted: list[int]) -> bool:
    """Whether merging neighbours gives these sizes."""
    found, ends = 1, [math.prod(wanted[: end + 1]) for end in range(len(wanted))]
    for size in sizes:
        found *= size
        if ends and found == ends[0]:
            ends.pop(0)
    return not ends and found == math.prod(wanted)
