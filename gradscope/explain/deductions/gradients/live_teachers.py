"""Teachers of a distillation that the student's loss moves: GS842.

Both are classifiers, and labels train the teacher in the same backward. Where the two have the same parameters (a
network that is to agree with itself), where a divergence goes the other way round, too (mutual learning), or where it
is to grow, both sides are meant to learn.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from gradscope.explain.deductions.gradients.leaves_behind import leaves_behind
from gradscope.explain.evidence import forms
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import RecordedDataflow, dataflow
from gradscope.model.flow import FlowOperation
from gradscope.model.operation import base_name
from gradscope.model.site import Site

_FAR = 12  # operators of one value's form: its shape, its temperature
_FORMS = (*forms.FORMS, "_to_copy", "clone", "contiguous", "alias", "clamp", "clamp_min", "flatten")
_TEMPERED = (*_FORMS, "slice", "div", "mul")  # with a number, or with what needs no gradient
_SUMS = ("add", "mean", "sum", "div", "mul", "index", "masked_select", "where", "masked_fill", "stack", "cat", "select")
_LABELLED = ("nll_loss_forward", "nll_loss2d_forward")
_PICKED = ("gather", "index")


@dataclass(frozen=True, slots=True)
class LiveTeacher:
    """The operator that makes a teacher's logits probabilities, and the line that compares a student with them."""

    made: int
    compares: Site


@dataclass(frozen=True, slots=True)
class _Imitation:
    """An operator that multiplies probabilities with a logarithm of others. `teacher` and `student` are logits."""

    at: int
    made: int
    teacher: int
    student: int


@dataclass(slots=True)
class _Loss:
    """The terms of what one backward starts from: logits that labels train, and divergences."""

    labelled: set[int] = field(default_factory=set)
    imitations: list[_Imitation] = field(default_factory=list)


def live_teachers(case: Case) -> Iterator[LiveTeacher]:
    """Such teachers, one for each line and backward."""
    flow = dataflow(case)
    held = {one.tensor for look in case.optimizer_looks() for one in look.parameters}
    for root in flow.roots if held else ():
        loss, told = _terms(flow, root.tensor), set()
        ways = {(one.teacher, one.student) for one in loss.imitations}
        for one in loss.imitations:
            site = flow.operations[one.at].site
            if site is None or site in told or one.teacher not in loss.labelled:
                continue
            if (one.student, one.teacher) not in ways and _are_two(flow, one, held):
                told.add(site)
                yield LiveTeacher(one.made, site)


def _are_two(flow: RecordedDataflow, one: _Imitation, held: set[int]) -> bool:
    """Whether teacher and student have parameters of their own, and an optimizer moves the teacher's."""
    teacher, student = (leaves_behind(flow, side, one.at).trained for side in (one.teacher, one.student))
    return bool((teacher - student) & held) and bool(student - teacher)


def _terms(flow: RecordedDataflow, root: int) -> _Loss:
    """The terms of a loss: down from it over sums and factors, with the sign of each. A factor is above 0."""
    found = _Loss()
    waiting, seen = [(root, len(flow.operations), 1)], {root}
    while waiting:
        tensor, before, sign = waiting.pop()
        at = flow.maker(tensor, before)
        if at is None:
            continue
        operation = flow.operations[at]
        name = base_name(operation.operation.name)
        labelled = _labelled(flow, at, operation)
        imitation, shrinks = _imitation(flow, at, operation)
        if labelled is not None:
            found.labelled.add(labelled)
        elif imitation is not None:
            found.imitations += [imitation] if sign * shrinks > 0 else []
        elif name in (*_SUMS, *_FORMS, "neg", "sub", "rsub"):
            for place, read in enumerate(operation.reads):
                if read.requires_grad and read.tensor not in seen:
                    seen.add(read.tensor)
                    turned = name == "neg" or (name == "sub" and place) or (name == "rsub" and not place)
                    waiting.append((read.tensor, at, -sign if turned else sign))
    return found


def _labelled(flow: RecordedDataflow, at: int, operation: FlowOperation) -> int | None:
    """The logits whose logarithm of probabilities an operator takes at labels."""
    name = base_name(operation.operation.name)
    if name not in (*_LABELLED, *_PICKED) or len(operation.reads) < 2:
        return None
    if not all(flow.is_whole(one.tensor) for one in operation.reads[1:2]):
        return None
    made = _back(flow, operation.reads[0].tensor, at, _FORMS)
    return None if made is None or _name(flow, made) != "_log_softmax" else _logits(flow, made)


def _imitation(flow: RecordedDataflow, at: int, operation: FlowOperation) -> tuple[_Imitation | None, int]:
    """What an operator compares, with -1 where more of it is less of a divergence: `p * log(q)`, or 1: `p * -log(q)`.

    Where one side is probabilities, the other may be a difference of logarithms.
    """
    if base_name(operation.operation.name) != "mul" or len(operation.reads) != 2:
        return None, 0
    one, other = operation.reads
    if not (one.requires_grad and other.requires_grad):
        return None, 0
    for chances, logarithm in ((one.tensor, other.tensor), (other.tensor, one.tensor)):
        made = _probabilities(flow, chances, at)
        if made is None or flow.shape(chances) != flow.shape(logarithm):
            continue
        teacher = _logits(flow, made)
        for student, sign in _logarithms(flow, logarithm, at):
            if teacher is not None and student != teacher:
                return _Imitation(at, made, teacher, student), -sign
    return None, 0


def _probabilities(flow: RecordedDataflow, tensor: int, before: int) -> int | None:
    """The softmax that made a tensor, or the exp() of a logarithm of one."""
    made = _back(flow, tensor, before, _FORMS)
    if made is not None and _name(flow, made) == "exp":
        inner = _back(flow, flow.operations[made].reads[0].tensor, made, _FORMS)
        return inner if inner is not None and _name(flow, inner) == "_log_softmax" else None
    return made if made is not None and _name(flow, made) == "_softmax" else None


def _logarithms(flow: RecordedDataflow, tensor: int, before: int) -> Iterator[tuple[int, int]]:
    """The logits of logarithms of probabilities that a tensor is, or is a difference of; each with its sign."""
    waiting = [(tensor, before, 1)]
    for _ in range(_FAR):
        if not waiting:
            return
        one, until, sign = waiting.pop()
        made = _back(flow, one, until, _FORMS)
        if made is None:
            continue
        name, reads = _name(flow, made), flow.operations[made].reads
        if name in ("sub", "neg"):
            turned = -sign if name == "neg" else sign
            waiting += [(read.tensor, made, -sign if place else turned) for place, read in enumerate(reads)]
            continue
        softmax = made if name == "_log_softmax" else None
        if name == "log":
            softmax = _back(flow, reads[0].tensor, made, (*_FORMS, "add"))
            softmax = softmax if softmax is not None and _name(flow, softmax) == "_softmax" else None
        logits = None if softmax is None else _logits(flow, softmax)
        if logits is not None:
            yield logits, sign


def _logits(flow: RecordedDataflow, softmax: int) -> int | None:
    """What a softmax reads, before its temperature and its shape."""
    tensor, until = flow.operations[softmax].reads[0].tensor, softmax
    for _ in range(_FAR):
        at = flow.maker(tensor, until)
        if at is None or _name(flow, at) not in _TEMPERED:
            break
        live = [one.tensor for one in flow.operations[at].reads if one.requires_grad]
        if len(live) != 1:
            break
        tensor, until = live[0], at
    return tensor


def _back(flow: RecordedDataflow, tensor: int, before: int, through: tuple[str, ...]) -> int | None:
    """The operator that made a tensor's values, up to their form."""
    for _ in range(_FAR):
        at = flow.maker(tensor, before)
        if at is None or _name(flow, at) not in through or len(flow.operations[at].reads) != 1:
            return at
        tensor, before = flow.operations[at].reads[0].tensor, at
    return None


def _name(flow: RecordedDataflow, at: int) -> str:
    return base_name(flow.operations[at].operation.name)
