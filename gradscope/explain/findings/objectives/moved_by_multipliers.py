"""GS700: the loss of a multiplier that moves what it weighs, against the loss that the multiplier is made for."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.steps.gradients_of_steps import held_by
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import RecordedDataflow, dataflow
from gradscope.explain.evidence.forms import COPIES, FORMS
from gradscope.explain.evidence.timeline import Moment, timelines
from gradscope.explain.evidence.trails import signed_terms
from gradscope.model.finding import Related
from gradscope.model.flow import FlowOperation, Read
from gradscope.model.operation import base_name
from gradscope.model.site import Site
from gradscope.model.training import STEP, ZERO_GRAD
from gradscope.store.asked import kept

_TIMES = 2  # of several backward calls a step, few are looked at together
_FAR = 16  # operators between a parameter and the factor that is made of it, or around what is weighed
_WEIGHS = ("mul", "dot")
_RISE = ("exp", "softplus", "sigmoid", "clamp", "clamp_min", "relu", "add", "sub", *FORMS, *COPIES)  # what they read
_AROUND = ("add", "sub", "rsub", "neg", "mean", "sum", *FORMS)  # which take or leave a constant
Signs = dict[int, int]  # of a tensor in something, by tensor


@dataclass(frozen=True, slots=True)
class _Weighed:
    """A product of a factor that parameter `leaf` makes and of `values`; `live`: the factor has its graph."""

    at: int
    live: bool
    leaf: int
    sign: int
    values: Signs


@dataclass(frozen=True, slots=True)
class _Term:
    """Such a product as a term of what a backward starts from."""

    weighed: _Weighed
    backward: int
    sign: int


def moved_by_a_multiplier(case: Case) -> Iterator[Cause]:
    """What it flags: the loss that trains a multiplier, as a temperature or the weight of a constraint, sends gradients
    into what the multiplier weighs.

    Why: the multiplier rises while the constraint is broken, so its loss has the other sign. If it keeps the graph of
    what is weighed, its gradient takes away there what the weighed term has given: that term trains nothing.

    Wrong:
        policy_loss = (weight.detach() * log_probability - value).mean()
        weight_loss = -(weight * (log_probability + target)).mean()

    Right:
        weight_loss = -(weight * (log_probability.detach() + target)).mean()

    Do instead: detach() what the multiplier weighs in its own loss.

    How it is found: in several steps, a factor made of one parameter multiplies a value that requires grad, and
    with the opposite sign a detached factor, made of the same parameter, multiplies the same value. Both are terms of
    one backward, or of two between which nothing clears or steps more than the multiplier. A hint.
    """
    times: Counter[tuple[Site, int]] = Counter()
    others: dict[Site, Site | None] = {}
    flow = dataflow(case)
    for live, held in _pairs(case):
        site = flow.operations[live.weighed.at].site
        if site is not None:
            times[site, live.weighed.leaf] += 1
            others[site] = flow.operations[held.weighed.at].site
    for (site, _), count in times.items():
        if count >= _TIMES:
            told = "the loss of this multiplier moves what it weighs, against the term that the multiplier is made for"
            yield Cause(told, site, (Related("used_at", others[site], "weighed for training"),), certain=False)


def _pairs(case: Case) -> Iterator[tuple[_Term, _Term]]:
    """The terms of a multiplier's loss with those that it works against."""
    found: dict[int, list[_Term]] = defaultdict(list)
    for term in _terms(case):
        found[term.weighed.leaf].append(term)
    for leaf, terms in found.items():
        for live in (one for one in terms if one.weighed.live):
            held = (one for one in terms if not one.weighed.live and _are_opposite(live, one))
            other = next((one for one in held if _are_added(case, leaf, live.backward, one.backward)), None)
            if other is not None:
                yield live, other


def _are_opposite(one: _Term, other: _Term) -> bool:
    """Whether two terms push the first value that both weigh to different sides."""
    first, second = one.weighed, other.weighed
    common = next((tensor for tensor in first.values if tensor in second.values), None)
    if common is None:
        return False
    signs = first.sign * first.values[common] * second.sign * second.values[common]
    return one.sign * other.sign * signs < 0


def _are_added(case: Case, leaf: int, one: int, other: int) -> bool:
    """Whether the gradients of two backward calls meet: what is cleared or steps in between holds that leaf alone."""
    first, last = sorted((one, other))
    if first == last:
        return True
    for timeline in timelines(case):
        calls = ((timeline.moments[at].backward, at) for at in timeline.backwards)
        places = {call.number: at for call, at in calls if call is not None}
        if first in places and last in places:
            between = timeline.moments[places[first] : places[last]]
            return all(_is_of_leaf(case, moment, leaf) for moment in between)
    return False


def _is_of_leaf(case: Case, moment: Moment, leaf: int) -> bool:
    if not moment.has(STEP, ZERO_GRAD) or moment.call is None or moment.call.optimizer is None:
        return not moment.has(STEP, ZERO_GRAD)
    return set(held_by(case, moment.call.optimizer)) == {leaf}


def _terms(case: Case) -> Iterator[_Term]:
    """The products that are terms of what a backward starts from which gives gradients to all that it reaches."""
    flow, weighed = dataflow(case), _weighed(case)
    if not {True, False} <= {one.live for one in weighed.values()}:
        return
    asked = {end.backward for end in flow.ends if end.target}
    kinds = {call.number: call.kind for call in case.backwards()}
    for root in flow.roots:
        if root.backward not in asked and kinds.get(root.backward) == "backward":
            for at, sign in signed_terms(flow, root.tensor, weighed):
                yield _Term(weighed[at], root.backward, sign)


@kept
def _weighed(case: Case) -> dict[int, _Weighed]:
    flow = dataflow(case)
    found = ((at, _product(flow, at, one)) for at, one in enumerate(flow.operations) if _is_product(one))
    return {at: one for at, one in found if one is not None}


def _is_product(operation: FlowOperation) -> bool:
    return (
        operation.backward is None
        and len(operation.reads) == 2
        and any(one.requires_grad and not one.leaf for one in operation.reads)
        and base_name(operation.operation.name) in _WEIGHS
    )


def _product(flow: RecordedDataflow, at: int, operation: FlowOperation) -> _Weighed | None:
    for factor, value in (operation.reads, operation.reads[::-1]):
        made = _made_of(flow, factor, at) if value.requires_grad and not value.leaf else None
        if made is not None:
            return _Weighed(at, factor.requires_grad, *made, _values(flow, value.tensor, at))
    return None


def _made_of(flow: RecordedDataflow, factor: Read, before: int) -> tuple[int, int] | None:
    """The only parameter that a factor is made of, by operators that rise or fall with it, and whether it falls: -1."""
    read, sign = factor, 1
    for _ in range(_FAR):
        known = flow.tensors.get(read.tensor)
        if read.leaf or (known is not None and known.parameter):
            return read.tensor, sign
        at = flow.maker(read.tensor, before)
        operation = None if at is None else flow.operations[at]
        if at is None or operation is None or len(operation.reads) != 1:
            return None
        name = base_name(operation.operation.name)
        if name != "neg" and name not in _RISE:
            return None
        read, sign, before = operation.reads[0], -sign if name == "neg" else sign, at
    return None


def _values(flow: RecordedDataflow, tensor: int, before: int) -> Signs:
    """What a value is, up to constants that are added and to its form, and what it was made of: the nearest first."""
    found, sign = {tensor: 1}, 1
    for _ in range(_FAR):
        at = flow.maker(tensor, before)
        operation = None if at is None else flow.operations[at]
        learned = [] if operation is None else [place for place, one in enumerate(operation.reads) if one.requires_grad]
        if at is None or operation is None or len(learned) != 1:
            break
        name = base_name(operation.operation.name)
        if name not in _AROUND:
            break
        falls = name in ("neg", "rsub") if learned[0] == 0 else name == "sub"
        tensor, sign, before = operation.reads[learned[0]].tensor, -sign if falls else sign, at
        found[tensor] = sign
    return found
