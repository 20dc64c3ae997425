"""Scores that are products of vectors: which vectors, and the numbers that scale them."""

from __future__ import annotations

from dataclasses import dataclass, field

from gradscope.explain.evidence.dataflow import RecordedDataflow
from gradscope.explain.evidence.forms import FORMS
from gradscope.model.flow import FlowOperation
from gradscope.model.operation import base_name

_MATRICES, _SUM, _TIMES = ("mm", "bmm", "mv"), "sum", "mul"
_SCALES = ("div", "div_", "mul", "mul_")
_FORMS = (*FORMS, "slice")
_PARTS = ("diagonal", "diagonal_copy", "gather", "index", "index_select", "masked_select", "select")
_CAT = "cat"
SAME = (*_FORMS, *_PARTS, "clone", "_to_copy", "alias", "detach", _CAT)  # one of joined vectors stands for all
_MOVES = ("add", "add_", "sub", "sub_", "masked_fill", "masked_fill_")
_FAR = 24  # operators between a score and what it is made of, at most


@dataclass(slots=True)
class Similarity:
    """A score: the operators that made it, the latest first, those that scale it or its vectors by a number, and the
    vectors as they were before they had another form or length."""

    steps: list[int] = field(default_factory=list)
    scalings: list[int] = field(default_factory=list)
    vectors: set[int] = field(default_factory=set)


def similarity(flow: RecordedDataflow, tensor: int, before: int) -> Similarity | None:
    """What a score is made of; None where it is no product of two vectors, neither of which is a parameter."""
    found = Similarity()
    for _ in range(_FAR):
        at = flow.maker(tensor, before)
        if at is None:
            return None
        found.steps.append(at)
        operation = flow.operations[at]
        factors = _factors(flow, at)
        if factors is not None:
            vectors = [_vector(flow, one, at, found.scalings) for one in factors]
            found.vectors = {one for one in vectors if one is not None}
            return found if len(vectors) == 2 and None not in vectors else None
        name = base_name(operation.operation.name)
        learned = [one.tensor for one in operation.reads if one.requires_grad]
        learned = learned[:1] if name == _CAT else learned
        if len(learned) != 1 or name not in (*SAME, *_MOVES, *_SCALES):
            return None
        if name in _SCALES:
            if not is_by_a_number(flow, operation):
                return None
            found.scalings.append(at)
        tensor, before = learned[0], at
    return None


def is_by_a_number(flow: RecordedDataflow, operation: FlowOperation) -> bool:
    """Whether an operator scales one tensor by a number, or by a tensor that holds one and is not learned."""
    scales = base_name(operation.operation.name) in _SCALES
    others = [one for one in operation.reads if flow.shape(one.tensor) != ()]
    return scales and len(others) == 1 and not any(one.requires_grad for one in operation.reads if one not in others)


def _factors(flow: RecordedDataflow, at: int) -> list[int] | None:
    """The two tensors that an operator multiplies and adds up, as a matrix product or element by element."""
    operation = flow.operations[at]
    name = base_name(operation.operation.name)
    if name in _MATRICES:
        return [one.tensor for one in operation.reads]
    maker = flow.maker(operation.reads[0].tensor, at) if name == _SUM and operation.reads else None
    times = None if maker is None else flow.operations[maker]
    if times is None or base_name(times.operation.name) != _TIMES:
        return None
    return [one.tensor for one in times.reads]


def _vector(flow: RecordedDataflow, tensor: int, before: int, scalings: list[int]) -> int | None:
    """What a factor was before it was given another form, length or scale; None where that is a parameter."""
    for _ in range(_FAR):
        known, at = flow.tensors.get(tensor), flow.maker(tensor, before)
        if known is not None and known.parameter:
            return None
        operation = None if at is None else flow.operations[at]
        name = "" if operation is None else base_name(operation.operation.name)
        if at is None or operation is None or name not in (*SAME, *_SCALES):
            return tensor
        if is_by_a_number(flow, operation):
            scalings.append(at)
        elif name in _SCALES and not _is_by_length(flow, operation, at):
            return tensor
        tensor, before = operation.reads[0].tensor, at
    return tensor


def _is_by_length(flow: RecordedDataflow, operation: FlowOperation, at: int) -> bool:
    """Whether a tensor is divided by its own length, as normalize() and cosine_similarity() do."""
    tensor, before = operation.reads[-1].tensor, at
    for _ in range(_FAR):
        made = flow.maker(tensor, before)
        if made is None:
            return False
        name = base_name(flow.operations[made].operation.name)
        if name in ("linalg_vector_norm", "norm"):
            return True
        if name not in (*_FORMS, "clone", "clamp_min", "clamp_min_", "clamp", "add", "maximum"):
            return False
        tensor, before = flow.operations[made].reads[0].tensor, made
    return False
