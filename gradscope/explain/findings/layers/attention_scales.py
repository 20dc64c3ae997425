"""GS848: attention whose scores are divided by the inverse of the root that they should be divided by."""

from __future__ import annotations

from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.numbers.root_scales import root_scales
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import RecordedDataflow, dataflow
from gradscope.explain.evidence.forms import FORMS
from gradscope.model.finding import Related
from gradscope.model.flow import FlowOperation
from gradscope.model.operation import base_name
from gradscope.model.site import Site

_SOFTMAX = ("_softmax", "_safe_softmax")
_FUSED = "_scaled_dot_product"
_PRODUCTS = ("bmm", "mm", "baddbmm")
_DIVISIONS, _SCALES = ("div", "div_"), ("div", "div_", "mul", "mul_")
_KEEPS = (*FORMS, "slice", "clone", "_to_copy", "select", "add", "add_", "sub", "masked_fill", "masked_fill_", "where")
_FAR = 64  # tensors between a softmax and what it is made of, at most


def scale_turned_around(case: Case) -> Iterator[Cause]:
    """What it flags: the scores of an attention are divided by `width ** -0.5`, or multiplied by `width ** 0.5`.

    Why: products of two vectors grow with the root of their width, and the division by it takes that back. Turned
    around, it makes them larger by the width: the softmax takes one of them alone, and lets no gradient through to
    queries and keys.

    Wrong:
        self.scale = width ** -0.5
        scores = queries @ keys.transpose(-2, -1) / self.scale

    Right:
        self.scale = width ** -0.5
        scores = queries @ keys.transpose(-2, -1) * self.scale

    Do instead: multiply by the inverse root, or divide by the root.

    How it is found: between a product and a softmax, or in what is multiplied, one number alone scales; its line
    divides by an expression, or by a name that is given one once, which is an inverse root, or multiplies by a root; or
    scaled_dot_product_attention() is told to scale by it.
    Vectors that were divided by their length may want it. A hint.
    """
    flow, scales = dataflow(case), root_scales(case)
    said: set[Site] = set()
    for at, operation in enumerate(flow.operations) if scales else ():
        scaling = _only_scaling(flow, at, operation) if operation.backward is None else None
        site = None if scaling is None else scaling.site
        if scaling is None or site is None or site in said or scaling.operation.stack[0] != site:
            continue
        said.add(site)
        found = scales.get((site.file, site.line))
        if found is not None and found.divides == (base_name(scaling.operation.name) in _DIVISIONS):
            yield Cause(
                "these scores are divided by the inverse of a root, which makes them larger by the whole width"
                if found.divides
                else "these scores are multiplied by a root that they should be divided by",
                site,
                () if found.made in (None, site) else (Related("made_at", found.made, "the scale"),),
                certain=False,
            )


def _only_scaling(flow: RecordedDataflow, at: int, operation: FlowOperation) -> FlowOperation | None:
    """The only operator by which a number scales the products that a softmax reads, or their factors."""
    name = base_name(operation.operation.name)
    if name in _SOFTMAX:
        products, scalings = _made_of(flow, [(operation.reads[0].tensor, at, False)])
        return flow.operations[scalings.pop()] if products and len(scalings) == 1 else None
    if name.startswith(_FUSED) and len(operation.reads) > 1:
        _, scalings = _made_of(flow, [(one.tensor, at, True) for one in operation.reads[:2]])
        return None if scalings else operation
    return None


def _made_of(flow: RecordedDataflow, waiting: list[tuple[int, int, bool]]) -> tuple[int, set[int]]:
    """How many products scores are made of, and what scales them or (True) their factors."""
    seen: set[tuple[int, int, bool]] = set()
    scalings: set[int] = set()
    products = 0
    while waiting and len(seen) < _FAR:
        tensor, before, is_factor = waiting.pop()
        at = None if (tensor, before, is_factor) in seen else flow.maker(tensor, before)
        seen.add((tensor, before, is_factor))
        if at is None:
            continue
        name, reads = base_name(flow.operations[at].operation.name), flow.operations[at].reads
        if name in _SCALES:
            scalings |= set() if _is_by_a_mask(flow, flow.operations[at]) else {at}  # a length is a scale as well
        elif name in _PRODUCTS and not is_factor:
            products, is_factor = products + 1, True
        elif name not in _KEEPS:
            continue
        waiting += [(one.tensor, at, is_factor) for one in reads if one.requires_grad]
    return products, scalings


def _is_by_a_mask(flow: RecordedDataflow, operation: FlowOperation) -> bool:
    """Whether an operator scales some elements and not others, by what is not learned."""
    return any(not one.requires_grad and max(flow.shape(one.tensor), default=1) > 1 for one in operation.reads)
