"""GS733: a softmax, or a share of a sum, over a dimension of one element: it is always 1."""

from __future__ import annotations

from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.lines.module_builds import chosen_at
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import RecordedDataflow, dataflow
from gradscope.model.flow import FlowOperation
from gradscope.model.graph import Node
from gradscope.model.notice import OVER_ONE
from gradscope.model.operation import base_name
from gradscope.model.site import Site

SOFTMAX_MODULE = "Softmax"  # in the name of its class: Softmax, LogSoftmax, Softmax2d, not a loss
_SAMPLES = 3


def softmax_over_one(case: Case) -> Iterator[Cause]:
    """What it flags: a softmax (or the one inside a cross entropy), or shares of a sum, over a dimension that has one
    element.

    Why: a softmax over one element is 1 whatever the element is, so its gradient is exactly zero, and nothing before it
    learns. A classifier with one output needs a sigmoid; with several, the wrong dim is often the reason.

    Wrong:
        p = torch.softmax(nn.Linear(8, 1)(x), dim=1)

    Right:
        p = torch.sigmoid(nn.Linear(8, 1)(x))

    Do instead: use sigmoid and binary_cross_entropy_with_logits for one output, or give the dimension of the classes to
    softmax.

    How it is found: the size of the dimension at each softmax under grad mode; a line is named when it was 1 every
    time. So is a division of a tensor by its own sum, where that sum has the same shape.
    """
    for notice in case.notices():
        if notice.what == OVER_ONE and notice.site is not None:
            node = softmax_at(case, notice.site)
            site, called = (notice.site, ()) if node is None else chosen_at(case, node)
            yield Cause("this softmax runs over one element: it is always 1, and its gradient zero", site, called)
    for site, operator in _shares_of_one(case).items():
        yield Cause(
            "this divides each value by the sum of it alone: the result is always 1, its gradient zero",
            site,
            op=operator,
        )


def softmax_at(case: Case, site: Site) -> Node | None:
    """The node of a softmax that a module of its own computed, in one of the first graphs."""
    for call in case.backwards()[:_SAMPLES]:
        for node in case.graph(call.number).nodes if call.number in case.graph_sizes() else ():
            if node.site == site and node.module is not None and node.name.removeprefix("Log").startswith("Softmax"):
                return node if SOFTMAX_MODULE in node.module.module_class else None
    return None


def _shares_of_one(case: Case) -> dict[Site, str]:
    """The lines that divide what requires grad by its own sum over one element, each time they ran."""
    flow = dataflow(case)
    found: dict[Site, str] = {}
    others: set[Site] = set()
    for operation in flow.operations:
        is_division = base_name(operation.operation.name) == "div" and operation.backward is None
        if is_division and operation.site is not None and len(operation.reads) == 2:
            if operation.reads[0].requires_grad and _is_own_sum(flow, operation):
                found.setdefault(operation.site, operation.operation.name)
            else:
                others.add(operation.site)
    return {site: name for site, name in found.items() if site not in others}


def _is_own_sum(flow: RecordedDataflow, division: FlowOperation) -> bool:
    """Whether a division's divisor is the sum of what it divides, of the same shape and more than one value in all."""
    value, divisor = division.reads[0].tensor, division.reads[1].tensor
    for at in flow.makers.get(divisor, ()):
        maker = flow.operations[at]
        if base_name(maker.operation.name) == "sum" and [one.tensor for one in maker.reads] == [value]:
            shapes = [flow.tensors[one].type.shape for one in (value, divisor) if one in flow.tensors]
            return len(shapes) == 2 and shapes[0] == shapes[1] and len(shapes[0]) > 1
    return False
