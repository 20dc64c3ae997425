"""GS748: a parameter that never moves: the optimizer which holds it clears each of its gradients before it steps."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.steps.gradients_of_steps import held_by, states_at, steps_of
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.optimizers import made_at
from gradscope.explain.evidence.timeline import Moment, timelines
from gradscope.explain.evidence.words import several
from gradscope.explain.findings.cuts.unused_gradients import is_read, were_followed
from gradscope.model.finding import Related
from gradscope.model.flow import LeafGradient
from gradscope.model.graph import Backward
from gradscope.model.site import Stack
from gradscope.model.training import STEP, ZERO_GRAD, CallKind

_TIMES, _UNNAMED = 3, "leaf"


@dataclass(slots=True)
class _Given:
    """Of an optimizer's steps: how many used a leaf's gradient, how many cleared it before, and the calls of these
    with the next ones."""

    used: Counter[int] = field(default_factory=Counter)
    wiped: Counter[int] = field(default_factory=Counter)
    calls: dict[int, list[tuple[Backward, int]]] = field(default_factory=lambda: defaultdict(list))


def wiped_each_time(case: Case) -> Iterator[Cause]:
    """What it flags: parameters whose optimizer steps, but clears all gradients that they ever get before it does.

    Why: a parameter learns from the loss whose backward comes before its own optimizer's step. One that stands in the
    optimizer of another loss gets its gradients between that one's step and its zero_grad(), and stays as it was made.

    Wrong:
        main = Adam(model.parameters())
        other = Adam(criterion.parameters())  # the critic, and the noise of the main loss

    Right:
        main = Adam([*model.parameters(), criterion.noise])
        other = Adam(criterion.critic.parameters())

    Do instead: give each parameter to the optimizer of the loss that it is in.

    How it is found: between two steps of an optimizer, the backward calls before another's step and those after its own
    zero_grad(), and the leaves that they reached. In three steps or more a parameter is among the former only, no
    operator reads what it was given, no other optimizer holds it, and others of this one are among the latter. A hint:
    it may be left at rest.
    """
    optimizers = {one: held_by(case, one) for one in steps_of(case)}
    holders = Counter(tensor for held in optimizers.values() for tensor in held)
    for optimizer, held in optimizers.items() if len(optimizers) > 1 else ():
        given = _given(case, optimizer)
        wiped = [one for one in held if holders[one] == 1 and _is_wiped(case, given, one)]
        if wiped and any(given.used[one] >= _TIMES for one in held):
            call = given.calls[wiped[0]][0][0]
            names = several([held[one] if held[one] != _UNNAMED else "a parameter" for one in wiped])
            yield Cause(
                f"this optimizer holds {names}, and clears each gradient of that before it steps: the loss that gives "
                "it belongs to another optimizer",
                made_at(case, optimizer),
                (Related("gradient_from", call.site, "and cleared later"),),
                certain=False,
                tensor=held[wiped[0]],
            )


def _given(case: Case, optimizer: int) -> _Given:
    """Of the steps of an optimizer; a line whose backward was not looked at reaches what it reached when it was."""
    found = _Given()
    looked = states_at(case)
    reached = _reached(case)
    for window in (each for timeline in timelines(case) for each in timeline.windows(optimizer, first=True)):
        cleared = max((at for at, one in enumerate(window) if _is_of(one, optimizer, ZERO_GRAD)), default=0)
        stepped = max((at for at in range(cleared) if _is_of_another(window[at], optimizer)), default=0)
        if not stepped or any(one.stack not in reached for one in _calls(window)):
            continue
        before, after = _calls(window[:stepped]), _calls(window[cleared:])
        used = {tensor for one in after for tensor in reached[one.stack]}
        lost = {tensor for one in before for tensor in reached[one.stack]} - used
        found.used.update(used)
        found.wiped.update(lost)
        for one in (each for each in before if after and each.number in looked):
            for tensor in lost & looked[one.number].keys():
                found.calls[tensor].append((one, after[0].number))
    return found


def _reached(case: Case) -> dict[Stack, set[int]]:
    """The leaves that the backward calls of each line were seen to reach."""
    found: dict[Stack, set[int]] = defaultdict(set)
    looked = states_at(case)
    for call in case.backwards():
        if call.number in looked:
            found[call.stack] |= looked[call.number].keys()
    return found


def _is_of(one: Moment, optimizer: int, kind: CallKind) -> bool:
    return one.has(kind) and one.call is not None and one.call.optimizer == optimizer


def _is_of_another(one: Moment, optimizer: int) -> bool:
    return one.has(STEP) and not _is_of(one, optimizer, STEP)


def _calls(window: Sequence[Moment]) -> list[Backward]:
    return [one.backward for one in window if one.backward is not None]


def _is_wiped(case: Case, given: _Given, tensor: int) -> bool:
    """Whether a leaf's gradients were all cleared, and none was read before."""
    if given.wiped[tensor] < _TIMES or given.used[tensor]:
        return False
    followed = [(call, until) for call, until in given.calls[tensor] if were_followed(case, call, until)][:_TIMES]
    return bool(followed) and not any(is_read(case, call, _leaf(case, call, tensor), until) for call, until in followed)


def _leaf(case: Case, call: Backward, tensor: int) -> LeafGradient:
    return next(one for one in case.leaf_gradients() if one.tensor == tensor and one.backward == call.number)
