"""Scores that a mask sets to zero before their softmax: exp(0) is 1, so that what is hidden keeps a share.

It is told where the mask is of truth values, differs along what the softmax runs over, and nothing masks the weights
again: some hide by both, and divide by what is left.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.explain.deductions.lines.settings import argument, calls_at
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.chance import keeps_by_chance
from gradscope.explain.evidence.dataflow import RecordedDataflow, dataflow
from gradscope.explain.evidence.forms import COPIES, FORMS, WIDENED
from gradscope.explain.evidence.trails import trail
from gradscope.functions.source import called_name
from gradscope.model.flow import FlowOperation
from gradscope.model.notice import OVER_BATCHED, OVER_MIDDLE, OVER_ONE, OVER_ROWS
from gradscope.model.operation import base_name
from gradscope.model.site import Site

SOFTMAX = ("_softmax", "_safe_softmax")
_FAR = 16
_NOTHING = 1e-3  # no score: a 1e-9 that was to be -1e9 is none either
_FILLS, _ZEROS = ("masked_fill", "masked_fill_"), ("zeros", "zeros_like", "new_zeros")
_ALIKE = ("ones", "ones_like", "new_ones", "full", "full_like", "new_full")  # a mask that hides nothing, or all
_TRIANGLES = ("tril", "triu")
_MASK_FORMS = (*FORMS, *COPIES, "slice", "select", "index", "repeat", "rsub")  # 1 - mask turns it around
_SCALES = (*WIDENED, "clone", "div", "mul")  # between the product and the softmax, by a number at most
_PRODUCTS, _FACTORS = ("bmm", "mm", "addmm", "sum"), ("mul", "div")
_MASKINGS = (*_FILLS, "mul", "mul_", "where")
_WEIGHT_FORMS = (*FORMS, *COPIES, "slice", "native_dropout")
_WIDENS = ("expand", "repeat")


def zeroed_scores(case: Case) -> Iterator[tuple[FlowOperation, FlowOperation]]:
    """Each operator that sets scores to zero, with the softmax of them whose weights add up values."""
    flow, over = dataflow(case), {one.site: one.what for one in case.notices() if one.what.startswith("softmax-over")}
    for at, softmax in enumerate(flow.operations):
        is_softmax = softmax.backward is None and base_name(softmax.operation.name) in SOFTMAX and softmax.makes
        if not is_softmax or not softmax.reads[0].requires_grad:
            continue
        place = _zeroing(flow, softmax.reads[0].tensor, at)
        if place is None:
            continue
        zeroing = flow.operations[place]
        varied = _along(flow, softmax, zeroing, over.get(softmax.site))
        mask = _mask(case, flow, zeroing, place)
        is_known = varied is not None and mask is not None and _differs(flow, mask, place, varied)
        if is_known and not _is_hidden(flow, zeroing, place) and _weighs(flow, softmax):
            yield zeroing, softmax


def is_of_data(flow: RecordedDataflow, mask: int, before: int) -> bool:
    """Whether a tensor is made of truth values that neither chance nor anything learned has given."""
    tensors = [mask]
    for at, operation in trail(flow, mask, before, lambda one: [read.tensor for read in one.reads], _FAR):
        if keeps_by_chance(flow, at) or any(one.requires_grad for one in operation.reads):
            return False
        tensors += [one.tensor for one in operation.reads]
    known = (flow.tensors.get(one) for one in tensors)
    return any(one is not None and one.type.dtype == "bool" for one in known)


def _zeroing(flow: RecordedDataflow, scores: int, before: int) -> int | None:
    """The operator of two tensors behind which scores are scaled by numbers at most."""
    for at, operation in trail(flow, scores, before, _scaled, _FAR):
        name = base_name(operation.operation.name)
        if name in _MASKINGS and len(operation.reads) > 1:
            return at
        if name not in _SCALES:
            return None
    return None


def _scaled(operation: FlowOperation) -> list[int]:
    return [one.tensor for one in operation.reads if len(operation.reads) == 1]


def _mask(case: Case, flow: RecordedDataflow, zeroing: FlowOperation, at: int) -> int | None:
    """The mask by which an operator sets scores to zero; None where that is not known."""
    name = base_name(zeroing.operation.name)
    plain = [one.tensor for one in zeroing.reads if not one.requires_grad]
    if sum(one.requires_grad for one in zeroing.reads) != 1 or not plain:
        return None
    if name == "where" and not _is_zero(flow, plain[-1], at):
        return None
    if name in _FILLS and not _fills_with_nothing(case, zeroing.site):
        return None
    return plain[0] if _is_truth(flow, plain[0], at) else None


def _is_zero(flow: RecordedDataflow, tensor: int, before: int) -> bool:
    made = flow.maker(tensor, before)
    return made is not None and base_name(flow.operations[made].operation.name) in _ZEROS


def _fills_with_nothing(case: Case, site: Site | None) -> bool:
    """Whether a line fills with a number that is written there, and nearly zero."""
    calls = calls_at(case, site) if site is not None else ()
    values = [argument(one, "value", 1) for one in calls if called_name(one) in _FILLS]
    return len(values) == 1 and isinstance(values[0], ast.Constant) and _is_nothing(values[0].value)


def _is_nothing(value: object) -> bool:
    return isinstance(value, (int, float)) and abs(value) < _NOTHING


def _is_truth(flow: RecordedDataflow, tensor: int, before: int) -> bool:
    """Whether a tensor holds truth values of data, or a triangle of ones, as they are or as 0 and 1."""
    for _ in range(_FAR):
        known, at = flow.tensors.get(tensor), flow.maker(tensor, before)
        if known is not None and known.type.dtype == "bool":
            made = {base_name(flow.operations[one].operation.name) for one in flow.sources(tensor, before)}
            if made <= {*_MASK_FORMS} and at is not None:
                tensor, before = flow.operations[at].reads[0].tensor, at
                continue
            return not made <= {*_ALIKE} and is_of_data(flow, tensor, before)
        if at is None:
            return False
        operation = flow.operations[at]
        name = base_name(operation.operation.name)
        if name in _TRIANGLES and len(operation.reads) == 1:
            ones = flow.maker(operation.reads[0].tensor, at)
            return ones is not None and base_name(flow.operations[ones].operation.name) in _ALIKE[:3]
        if name not in _MASK_FORMS or not operation.reads:
            return False
        tensor, before = operation.reads[0].tensor, at
    return False


def _along(flow: RecordedDataflow, softmax: FlowOperation, zeroing: FlowOperation, noticed: str | None) -> int | None:
    """The dimension of the zeroed scores, from the last, that a softmax runs over; None where that is not known."""
    shape, before = flow.shape(softmax.makes[0]), flow.shape(zeroing.makes[0]) if zeroing.makes else ()
    long, long_before = ([-at for at in range(1, len(one) + 1) if one[-at] > 1] for one in (shape, before))
    if [shape[at] for at in long] != [before[at] for at in long_before] or noticed in (OVER_ONE, OVER_BATCHED):
        return None
    along = {OVER_ROWS: -2, OVER_MIDDLE: -2}.get(noticed or "", next(iter(long), 0))
    return long_before[long.index(along)] if along in long else None


def _differs(flow: RecordedDataflow, mask: int, before: int, along: int) -> bool:
    """Whether a mask has values of its own along a dimension, and is not one value that was repeated there."""
    made = [mask]
    for _, operation in trail(flow, mask, before, _widened, _FAR):
        made += [operation.reads[0].tensor] if base_name(operation.operation.name) in _WIDENS else []
    return all(len(shape) >= -along and shape[along] > 1 for shape in map(flow.shape, made))


def _widened(operation: FlowOperation) -> list[int]:
    is_alike = base_name(operation.operation.name) in (*COPIES, *_WIDENS, "rsub")
    return [one.tensor for one in operation.reads[:1] if is_alike]


def _is_hidden(flow: RecordedDataflow, zeroing: FlowOperation, at: int) -> bool:
    """Whether something besides products and forms was done to the scores before: another mask, or a bias."""
    for _, operation in trail(flow, _learned(zeroing)[0], at, _learned, _FAR):
        name = base_name(operation.operation.name)
        if name in _PRODUCTS:
            return False
        if name not in _FACTORS and not all(one.requires_grad for one in operation.reads):
            return True
    return False


def _learned(operation: FlowOperation) -> list[int]:
    return [one.tensor for one in operation.reads if one.requires_grad]


def _weighs(flow: RecordedDataflow, softmax: FlowOperation) -> bool:
    """Whether the weights are multiplied with values and added up, and nothing masks or divides them before."""
    waiting, seen, found = list(softmax.makes), set(softmax.makes), False
    while waiting:
        for at in flow.readers.get(waiting.pop(), ()):
            operation = flow.operations[at]
            name = base_name(operation.operation.name)
            if operation.backward is not None or not operation.makes:
                continue
            if name in _WEIGHT_FORMS:
                new = {operation.makes[0]} - seen
                seen |= new
                waiting += new
            elif name in ("bmm", "mm") or (name == "mul" and is_summed(flow, operation) and not _masks(flow, at)):
                found = True
            elif name in (*_MASKINGS, "sum", "index", "div"):
                return False
    return found


def _masks(flow: RecordedDataflow, at: int) -> bool:
    """Whether an operator multiplies by truth values."""
    return any(_is_truth(flow, one.tensor, at) for one in flow.operations[at].reads if not one.requires_grad)


def is_summed(flow: RecordedDataflow, operation: FlowOperation) -> bool:
    """Whether what an operator made is added up."""
    readers = (flow.operations[at] for at in flow.readers.get(operation.makes[0], ()))
    return any(base_name(one.operation.name) == "sum" for one in readers)
