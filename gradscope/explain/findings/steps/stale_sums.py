"""GS715: gradients that were summed up before an optimizer held their parameters, and that its first step uses."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.steps.gradients_of_steps import States, held_by, states_at, steps_of
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.optimizers import made_at
from gradscope.explain.evidence.syntax import attribute_call, syntax
from gradscope.explain.evidence.timeline import Timeline, is_whole, timelines
from gradscope.explain.evidence.words import several
from gradscope.model.finding import Related
from gradscope.model.flow import GradientState, HeldParameter, OptimizerLook
from gradscope.model.site import Site
from gradscope.model.training import MADE, STEP, ZERO_GRAD, TrainingCall

_TIMES = 2  # backward calls that found values which nothing had cleared
_EMPTY = (GradientState.NONE, GradientState.ZERO)
_BY_HAND = re.compile(
    r"\.grad(\.data)?\s*=(?!=)|\.grad(\.data)?\.\w+_\(|\bdel\b.*\.grad\b|[\"']grad[\"']|_foreach_zero_"
)


@dataclass(frozen=True, slots=True)
class _Joined:
    """What an optimizer held for the first time at a step; `joined` and `stepped` are places in the timeline.

    It was given them after the place `joined`: there it was made, or stepped with the `others` alone, so many.
    """

    look: OptimizerLook
    new: tuple[HeldParameter, ...]
    others: int
    joined: int
    stepped: int


def stale_sum(case: Case) -> Iterator[Cause]:
    """What it flags: a first step with parameters whose gradients were summed up before the optimizer held them.

    Why: a zero_grad() clears what its optimizer holds. While a part of the model is in no optimizer, each backward adds
    to its gradients. Once it is let learn, the first step goes along the sum of all that has come since the beginning:
    it is many times too long, and momentum keeps it.

    Wrong:
        optimizer = torch.optim.SGD(model.head.parameters(), lr=0.1)
        for step, (x, y) in enumerate(loader):
            if step == 100:
                optimizer.add_param_group({"params": model.body.parameters()})
            criterion(model(x), y).backward()
            optimizer.step()
            optimizer.zero_grad()

    Right:
            model.zero_grad()

    Do instead: clear the gradients of the whole model, or freeze with requires_grad_(False) what is not to learn yet.

    How it is found: an optimizer steps with parameters that it did not hold before. Backward calls from before that
    found values in their .grad, and none in that of others, which were cleared; and no zero_grad() comes between them
    and the step that clears these too, nor a step of another optimizer that uses them: the optimizer of a stage before
    may have. Nothing is said of a program that sets .grad by itself, nor of an optimizer that is made after the last
    backward and steps at once, for what was summed up.
    """
    if not is_whole(case) or _clears_by_hand(case):
        return
    for timeline in timelines(case):
        for optimizer in () if timeline.has_closures else steps_of(case):
            for one in _joined(case, timeline, optimizer):
                cause = _stale(case, timeline, one)
                if cause is not None:
                    yield cause


def _clears_by_hand(case: Case) -> bool:
    return any(True for _ in syntax(case).matching(lambda line: _BY_HAND.search(line) is not None))


def _joined(case: Case, timeline: Timeline, optimizer: int) -> Iterator[_Joined]:
    """The steps of an optimizer that was made late, or that was given more, with what they hold for the first time."""
    steps = [at for at, call in timeline.of(STEP) if call.optimizer == optimizer]
    made = next((at for at, call in timeline.of(MADE) if call.optimizer == optimizer), None)
    looks = sorted((one for one in case.optimizer_looks() if one.optimizer == optimizer), key=lambda one: one.count)
    looks = [one for one in looks if one.count < len(steps)]
    if made is not None and looks and looks[0].count == 0 and _is_derived_for(timeline, made, steps[0]):
        yield _Joined(looks[0], looks[0].parameters, 0, made, steps[0])
    for before, look in pairwise(looks):
        known = {one.tensor for one in before.parameters}
        new = tuple(one for one in look.parameters if one.tensor not in known)
        if new and look.count > 0:
            yield _Joined(look, new, len(before.parameters), steps[look.count - 1], steps[look.count])


def _is_derived_for(timeline: Timeline, made: int, stepped: int) -> bool:
    """Whether a backward lies between: one that is made and steps at once is made for the gradients that are there."""
    return any(made < at < stepped for at in timeline.backwards)


def _stale(case: Case, timeline: Timeline, joined: _Joined) -> Cause | None:
    """What is told where gradients from before the joining are still there at the step."""
    places = {timeline.moments[at].backward: at for at in timeline.backwards if at < joined.stepped}
    sizes = case.graph_sizes().keys()
    numbers = {one.number: at for one, at in places.items() if one is not None}
    if max(numbers, default=None) != joined.look.backward:
        return None
    looked = {at: states_at(case)[one] for one, at in numbers.items() if one in states_at(case).keys() & sizes}
    looked = {at: states for at, states in looked.items() if at < joined.joined}
    stale = [one for one in joined.new if _is_summed(case, timeline, joined, looked, one)]
    if not stale:
        return None
    names = [one.name for one in stale]
    first = _first(case, timeline, joined, looked, stale[0].tensor)
    left_out = _leaving(case, timeline, first, joined, looked)
    joining = _joining_line(case, joined)
    site = joining if left_out is None else left_out
    calls = sum(first <= at < joined.stepped for at in timeline.backwards)
    message = f"the gradients of {several(names)} are the sum of {calls} backward calls at the first step with them"
    steps = Related("stepped_at", joined.look.site, "the step that uses the sum")
    related = Related("cause_at", joining, "the optimizer is given them")
    places_of = tuple(one for one in (related, steps) if one.site is not None and one.site != site)
    message += "" if left_out is None else ": this does not clear them, as the optimizer does not hold them until then"
    return Cause(message, site or joined.look.site, places_of, tensor=names[0], weight=len(names))


def _first(case: Case, timeline: Timeline, joined: _Joined, looked: dict[int, States], tensor: int) -> int:
    """The first place that adds to a sum: it found nothing there, or comes right after what ended the sum before."""
    since = _since(case, timeline, joined, tensor)
    at = min(at for at, states in looked.items() if at > since and tensor in states)
    return at if looked[at][tensor] in _EMPTY else since + 1


def _is_summed(case: Case, timeline: Timeline, joined: _Joined, looked: dict[int, States], one: HeldParameter) -> bool:
    """Whether a gradient had values at all backward calls but the first, and others had none.

    Those count that came since it was cleared or used: an optimizer of a stage before may have held it.
    """
    reached = {at: states[one.tensor] for at, states in looked.items() if one.tensor in states}
    if one.state is not GradientState.VALUES or len(reached) <= _TIMES:
        return False
    since = _since(case, timeline, joined, one.tensor)
    first, *later = sorted(at for at in reached if at > since) or (since,)
    kept = len(later) >= _TIMES and all(reached[at] is GradientState.VALUES for at in later)
    return kept and all(_is_cleared(case, looked, first, at) for at in later)


def _since(case: Case, timeline: Timeline, joined: _Joined, tensor: int) -> int:
    """The last place before the step at which something may have cleared a gradient or used it; -1 if there is none."""
    for at in range(joined.stepped - 1, -1, -1):
        call = timeline.moments[at].call
        if call is not None and _may_end(case, joined, at, call, tensor):
            return at
    return -1


def _may_end(case: Case, joined: _Joined, at: int, call: TrainingCall, tensor: int) -> bool:
    if call.kind is STEP and call.optimizer is not None:
        return call.optimizer != joined.look.optimizer and tensor in held_by(case, call.optimizer)
    return call.kind is ZERO_GRAD and _may_clear(case, joined, at, call, tensor)


def _is_cleared(case: Case, looked: dict[int, States], first: int, at: int) -> bool:
    """Whether some of what optimizers hold had no gradient at a place, though a backward since the first gave one."""
    held = {tensor for optimizer in steps_of(case) for tensor in held_by(case, optimizer)}
    given = {tensor for place, states in looked.items() if first <= place < at for tensor in states}
    return any(state in _EMPTY for tensor, state in looked[at].items() if tensor in held & given)


def _may_clear(case: Case, joined: _Joined, at: int, call: TrainingCall, tensor: int) -> bool:
    """Whether a zero_grad() clears a parameter: that of a module may, and that of an optimizer which holds it by then.

    How many parameters an optimizer holds tells whether it was given the new ones already.
    """
    if call.optimizer == joined.look.optimizer:
        return at > joined.joined and call.total != joined.others
    if call.optimizer not in steps_of(case):
        return True
    return tensor in held_by(case, call.optimizer)


def _leaving(case: Case, timeline: Timeline, first: int, joined: _Joined, looked: dict[int, States]) -> Site | None:
    """The last zero_grad() before the joining, of an optimizer whose parameters were cleared."""
    last = looked[max(looked)]
    for at, call in reversed(list(timeline.of(ZERO_GRAD))):
        held = {} if call.optimizer is None else held_by(case, call.optimizer)
        if first < at < joined.stepped and any(last.get(tensor) in _EMPTY for tensor in held):
            return call.site
    return None


def _joining_line(case: Case, joined: _Joined) -> Site | None:
    if joined.look.count == 0:
        return made_at(case, joined.look.optimizer)
    found = list(syntax(case).everywhere(attribute_call("add_param_group")))
    return found[0] if len(found) == 1 else None
