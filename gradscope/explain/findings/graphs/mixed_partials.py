"""GS905: a sum of second derivatives with the mixed ones in it, where a Laplacian was meant."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import RecordedDataflow, dataflow
from gradscope.model.finding import Related
from gradscope.model.flow import FlowOperation
from gradscope.model.graph import Backward
from gradscope.model.operation import base_name
from gradscope.model.site import Site

_MIXES = ("mm", "bmm", "matmul", "convolution_backward", "einsum")  # each result takes from all columns
_ONES = ("ones_like", "ones", "new_ones")
_COLUMNS = ("select", "slice", "unbind", "split", "unsafe_split", "narrow")
_SCALES = ("mul", "div", "neg", "squeeze", "unsqueeze", "view", "alias")
_SUM = "sum"


@dataclass(slots=True)
class _Derivative:
    """A call that took a derivative: what it started from, what it was asked for, and its operators."""

    roots: list[int] = field(default_factory=list)
    targets: list[int] = field(default_factory=list)
    operations: list[int] = field(default_factory=list)


def mixed_partials(case: Case) -> Iterator[Cause]:
    """What it flags: all components of a slope are differentiated at once, and the components of what comes out are
    added up.

    Why: autograd.grad(slope, x, ones_like(slope)) differentiates the sum of the components. Its k-th column is the
    second derivative by x_k and, beside it, all the mixed ones; the sum of the columns is the sum of the whole Hessian
    and not its trace.

    Wrong:
        slope = grad(u, x, ones_like(u), create_graph=True)[0]
        laplacian = grad(slope, x, ones_like(slope), create_graph=True)[0].sum(1)

    Right:
        slope = grad(u, x, ones_like(u), create_graph=True)[0]
        columns = [grad(slope[:, k].sum(), x, create_graph=True)[0][:, k] for k in range(x.shape[1])]
        laplacian = torch.stack(columns, 1).sum(1)

    Do instead: differentiate each component by itself, and keep of each result the column of the same number.

    How it is found: a grad call starts from all that an earlier one gave for the same tensor, or from its sum, with
    ones for a gradient; the last size of that tensor is more than one, and a product of matrices has mixed its columns.
    The columns of the result are summed, or taken apart and added to each other.
    """
    calls = {one.number: one for one in case.backwards() if one.kind == "grad"}
    if len(calls) < 2:
        return
    flow = dataflow(case)
    derivatives = _derivatives(flow, calls)
    told: set[str] = set()
    for number, second in derivatives.items():
        first = _first(flow, derivatives, second)
        site = calls[number].site
        if first is None or site is None or str(site) in told:
            continue
        added = _added(flow, second)
        if added is not None and _mixes(flow, derivatives[first]):
            told.add(str(site))
            yield Cause(
                "this differentiates the sum of all components of a slope, and its columns are added up: the mixed "
                "second derivatives are in that sum, which a Laplacian leaves out",
                site,
                tuple(
                    Related("cause_at", at, what)
                    for at, what in ((calls[first].site, "the slope"), (added, "adds the columns"))
                    if at is not None and at != site
                ),
                certain=False,
            )


def _derivatives(flow: RecordedDataflow, calls: dict[int, Backward]) -> dict[int, _Derivative]:
    """What is known of each grad call, in order."""
    found: dict[int, _Derivative] = defaultdict(_Derivative)
    for end in flow.ends:
        if end.backward in calls:
            (found[end.backward].targets if end.target else found[end.backward].roots).append(end.tensor)
    for at, one in enumerate(flow.operations):
        if one.backward in found:
            found[one.backward].operations.append(at)
    return dict(sorted(found.items()))


def _first(flow: RecordedDataflow, derivatives: dict[int, _Derivative], second: _Derivative) -> int | None:
    """The call that gave all that a second one starts from, for the same tensor with several columns."""
    if len(second.roots) != 1 or len(second.targets) != 1 or not second.operations:
        return None
    (root,), (target,) = second.roots, second.targets
    shape = _shape(flow, target)
    if len(shape) < 2 or shape[-1] < 2:
        return None
    summed = _only(flow, root) if not _shape(flow, root) else None
    slope = root
    if summed is not None and base_name(summed.operation.name) == _SUM and len(summed.reads) == 1:
        slope = summed.reads[0].tensor
    elif not _starts_from_ones(flow, second, shape):
        return None
    made = _only(flow, slope)
    first = None if made is None else made.backward
    if first is None or first not in derivatives or _shape(flow, slope) != shape:
        return None
    return first if derivatives[first].targets == [target] else None


def _starts_from_ones(flow: RecordedDataflow, second: _Derivative, shape: tuple[int, ...]) -> bool:
    """Whether a call reads ones from outside, of the shape of what it started from."""
    for read in {read.tensor for at in second.operations for read in flow.operations[at].reads}:
        made = _only(flow, read)
        if made is not None and base_name(made.operation.name) in _ONES and _shape(flow, read) == shape:
            return True
    return False


def _mixes(flow: RecordedDataflow, first: _Derivative) -> bool:
    """Whether the slope is a product of matrices, each of whose columns takes part in all."""
    shape = _shape(flow, first.targets[0])
    products = (flow.operations[at] for at in first.operations)
    made = [each for one in products if base_name(one.operation.name) in _MIXES for each in _shapes(flow, one)]
    return any(each[-1:] == shape[-1:] and math.prod(each) == math.prod(shape) for each in made)


def _added(flow: RecordedDataflow, second: _Derivative) -> Site | None:
    """The line that adds the columns of what a call gave."""
    shape, own = _shape(flow, second.targets[0]), set(second.operations)
    for result in (made for at in second.operations for made in flow.operations[at].makes):
        if _shape(flow, result) != shape:
            continue
        parts: dict[int, str] = {}
        for at in flow.readers.get(result, ()):
            one = flow.operations[at]
            if at in own:
                continue
            if base_name(one.operation.name) == _SUM and _without_columns(shape) & set(_shapes(flow, one)):
                return one.site
            if base_name(one.operation.name) in _COLUMNS:
                parts.update((made, f"{at}.{place}") for place, made in enumerate(one.makes))
        site = _joined(flow, parts)
        if site is not None:
            return site
    return None


def _joined(flow: RecordedDataflow, parts: dict[int, str]) -> Site | None:
    """The line that adds two of these columns, or what each was scaled to."""
    waiting = list(parts)
    while waiting:
        part = waiting.pop()
        for at in flow.readers.get(part, ()):
            one = flow.operations[at]
            name = base_name(one.operation.name)
            columns = {parts[read.tensor] for read in one.reads if read.tensor in parts}
            if name == "add" and len(columns) > 1:
                return one.site
            if name in _SCALES and len(columns) == 1:
                fresh = [made for made in one.makes if made not in parts]
                parts.update((made, parts[part]) for made in fresh)
                waiting += fresh
    return None


def _without_columns(shape: tuple[int, ...]) -> set[tuple[int, ...]]:
    return {shape[:-1], (*shape[:-1], 1)}


def _only(flow: RecordedDataflow, tensor: int) -> FlowOperation | None:
    """The only operator that made a tensor."""
    makers = flow.makers.get(tensor, ())
    return flow.operations[makers[0]] if len(makers) == 1 else None


def _shapes(flow: RecordedDataflow, one: FlowOperation) -> list[tuple[int, ...]]:
    return [_shape(flow, made) for made in one.makes]


def _shape(flow: RecordedDataflow, tensor: int) -> tuple[int, ...]:
    return flow.tensors[tensor].type.shape if tensor in flow.tensors else ()
