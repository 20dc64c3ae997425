"""GS847: the heads of attention that a bare view cuts out of the features, or puts back: it mixes the positions.

A view keeps the order in memory: [b, t, d] seen as [b, h, t, d / h] takes pieces of several positions for one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import RecordedDataflow, dataflow
from gradscope.explain.evidence.forms import RESHAPES
from gradscope.model.finding import Related
from gradscope.model.flow import FlowOperation
from gradscope.model.operation import base_name
from gradscope.model.site import Site

_COPIES = ("clone", "expand", "contiguous", "alias", "_to_copy")
_PARTS = ("split", "split_with_sizes", "chunk", "slice", "unsafe_split")
_WEIGHTED = ("native_dropout", "mul", "mul_", "div", "div_", "where", "masked_fill")  # between softmax and the values
_LINEAR = ("addmm", "mm")
_SOFTMAX = ("_softmax", "_safe_softmax")
_STEPS = 4  # from the result to features, at most: copies, and a transpose
_FUSED = "_scaled_dot_product"


@dataclass(frozen=True, slots=True)
class _Side:
    """How heads are cut out of the features, or put back: with the transpose or without, and at which line."""

    swaps: bool
    site: Site | None


def heads_scrambled(case: Case) -> Iterator[Cause]:
    """What it flags: heads of attention that are split by a view without its transpose, but merged with it; or the
    other way round.

    Why: a view leaves the order in memory as it is. The features of a position lie side by side: as [b, h, t, d / h]
    they give heads whose rows are cut together from several positions. Shapes fit, nothing fails, and each position
    attends to pieces of others, or gets what belongs to others.

    Wrong:
        q = self.query(x).view(b, heads, t, d // heads)
        y = attention(q, k, v).transpose(1, 2).reshape(b, t, d)

    Right:
        q = self.query(x).view(b, t, heads, d // heads).transpose(1, 2)
        y = attention(q, k, v).transpose(1, 2).reshape(b, t, d)

    Do instead: split with view(b, t, heads, d // heads).transpose(1, 2), merge with transpose(1, 2).reshape(b, t, d).

    How it is found: in the first steps, what a linear layer makes of each position becomes heads, which go into
    scaled_dot_product_attention or meet the softmax of their scores, and the result becomes features again. One of the
    two ways swaps heads and positions, the other does not, and there are not as many heads as positions.
    """
    flow = dataflow(case)
    said: set[Site] = set()
    for at, operation in enumerate(flow.operations):
        if operation.backward is not None:
            continue
        for heads, result in _attention(flow, at, operation):
            split, merge = _split(flow, heads), _merge(flow, result)
            if split is None or merge is None or split.swaps == merge.swaps:
                continue
            bare, other = (merge, split) if split.swaps else (split, merge)
            if bare.site is not None and bare.site not in said:
                said.add(bare.site)
                yield _cause(bare.site, other.site, split.swaps)


def _cause(bare: Site, other: Site | None, merges: bool) -> Cause:
    if merges:
        message, advice = "puts heads together", "put transpose(1, 2) before it, as the heads were split with one"
    else:
        message, advice = "splits heads", "write view(b, t, heads, d // heads).transpose(1, 2)"
    return Cause(
        f"this {message} in the order in memory, without swapping heads and positions: it mixes the positions",
        bare,
        (Related("called_at", other, "swaps them"),) if other not in (None, bare) else (),
        advice=advice,
    )


def _attention(flow: RecordedDataflow, at: int, operation: FlowOperation) -> Iterator[tuple[int, int]]:
    """What an operator of attention reads as heads, and the result, both [b, h, t, d / h]."""
    name = base_name(operation.operation.name)
    if name.startswith(_FUSED) and operation.makes:
        for read in operation.reads[:3]:
            yield read.tensor, operation.makes[0]
    elif name == "bmm" and len(operation.reads) == 2 and _is_softmax(flow, operation.reads[0].tensor):
        before = _way(flow, operation.reads[1].tensor, (*RESHAPES, *_COPIES))
        values = next((one for one in before if len(flow.shape(one)) == 4), None)
        shaped = _reader(flow, operation.makes[0])
        if values is not None and shaped is not None and base_name(shaped.operation.name) in RESHAPES:
            yield values, shaped.makes[0]


def _split(flow: RecordedDataflow, heads: int) -> _Side | None:
    """How heads [b, h, t, c] were cut out of what a linear layer made, [b, t, h * c]."""
    *_, first = _way(flow, heads, _COPIES)
    shape, made = flow.shape(heads), _maker(flow, first)
    if made is None or not made.reads or not _tells(shape):
        return None
    before = made.reads[0].tensor
    swaps = _swaps(made) and _swapped(shape) == flow.shape(before) and _is_sure(made, shape)
    viewed = _maker(flow, before) if swaps else made
    if viewed is None or not viewed.reads or base_name(viewed.operation.name) not in RESHAPES:
        return None
    features = viewed.reads[0].tensor
    b, h, t, c = shape
    return _Side(swaps, made.site) if flow.shape(features) == (b, t, h * c) and _is_linear(flow, features) else None


def _merge(flow: RecordedDataflow, result: int) -> _Side | None:
    """How the result of attention, [b, h, t, c], becomes features again, [b, t, h * c]."""
    shape = flow.shape(result)
    if not _tells(shape):
        return None
    b, h, t, c = shape
    swaps = False
    for _ in range(_STEPS):
        one = _reader(flow, result)
        if one is None:
            return None
        name, made = base_name(one.operation.name), one.makes[0]
        if name in RESHAPES and flow.shape(made) in ((b, t, h * c), (b * t, h * c)):
            return _Side(swaps, one.site)
        if not swaps and _swaps(one) and flow.shape(made) == _swapped(shape) and _is_sure(one, shape):
            swaps = True
        elif name not in _COPIES or flow.shape(made) != flow.shape(one.reads[0].tensor):
            return None
        result = made
    return None


def _tells(shape: tuple[int, ...]) -> bool:
    """Whether heads and positions can be told apart in [b, h, t, c]."""
    return len(shape) == 4 and shape[1] > 1 and shape[2] > 1 and shape[1] != shape[2]


def _swaps(operation: FlowOperation) -> bool:
    return base_name(operation.operation.name) in ("transpose", "permute")


def _is_sure(operation: FlowOperation, shape: tuple[int, ...]) -> bool:
    """Whether the shapes tell what was swapped: a permutation may do more than a transpose."""
    return base_name(operation.operation.name) == "transpose" or len(set(shape)) == len(shape)


def _swapped(shape: tuple[int, ...]) -> tuple[int, ...]:
    return (shape[0], shape[2], shape[1], shape[3])


def _is_linear(flow: RecordedDataflow, tensor: int) -> bool:
    """Whether features [b, t, d] are what a linear layer made of each position, or a part of that."""
    positions = flow.shape(tensor)[:2]
    for one in _way(flow, tensor, (*RESHAPES, *_COPIES, *_PARTS)):
        shape = flow.shape(one)
        if len(shape) == 2:
            made = _maker(flow, one)
            return made is not None and base_name(made.operation.name) in _LINEAR and shape[0] == math.prod(positions)
        if shape[:2] != positions:
            return False
    return False


def _is_softmax(flow: RecordedDataflow, tensor: int) -> bool:
    """Whether weights are a softmax, dropped out and masked at most."""
    *_, first = _way(flow, tensor, (*RESHAPES, *_COPIES, *_WEIGHTED))
    made = _maker(flow, first)
    return made is not None and base_name(made.operation.name) in _SOFTMAX


def _way(flow: RecordedDataflow, tensor: int, through: tuple[str, ...]) -> Iterator[int]:
    """A tensor, and those that it was made of by these operators, the nearest first."""
    seen: set[int] = set()
    while tensor not in seen:
        seen.add(tensor)
        yield tensor
        made = _maker(flow, tensor)
        if made is not None and made.reads and base_name(made.operation.name) in through:
            tensor = made.reads[0].tensor


def _reader(flow: RecordedDataflow, tensor: int) -> FlowOperation | None:
    """The only operator of a forward that makes something of a tensor."""
    readers = [flow.operations[at] for at in flow.readers.get(tensor, ())]
    readers = [one for one in readers if one.backward is None and one.makes]
    readers = [one for one in readers if base_name(one.operation.name) != "detach"]  # autograd's own, for what it saves
    return readers[0] if len(readers) == 1 else None


def _maker(flow: RecordedDataflow, tensor: int) -> FlowOperation | None:
    """The only operator that made a tensor."""
    makers = flow.makers.get(tensor, ())
    return flow.operations[makers[0]] if len(makers) == 1 else None
