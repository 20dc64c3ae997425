"""Which gradients each step of an optimizer uses: those of the backward calls since it stepped last, or older ones too.

What .grad held when a backward began is known for the steps that are looked at: where one is not, nothing is said.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from gradscope.explain.deductions.steps.grown_windows import Lost, grown
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import dataflow, is_optimizer
from gradscope.explain.evidence.optimizers import is_clipping
from gradscope.explain.evidence.timeline import Moment, Timeline, alike, timelines
from gradscope.model.flow import GradientState
from gradscope.model.site import Site, Stack, user_site
from gradscope.model.training import EVAL, STEP, TRAIN, ZERO_GRAD
from gradscope.store.asked import kept

_TIMES = 2  # rounds that leave something to the next
_EMPTY = (GradientState.NONE, GradientState.ZERO)
Cleared = tuple[Stack, list[Moment | None]]
States = dict[int, GradientState]  # of the leaves that a backward reached, by tensor


@dataclass(frozen=True, slots=True)
class Accumulated:
    """What an optimizer's steps use. `windows` are the stretches between two steps that are known.

    `stale`: the names of parameters that were cleared in none of them. `cleared_elsewhere`: a zero_grad() in them that
    left those as they were and begins no round of its own optimizer. `seldom`: one in windows that are not known, where
    those that are have none.
    `thrown_away`: a zero_grad() that cleared gradients of some of a window's backward calls of one line, and these;
    `lost_windows` in so many windows, `lost_calls` in each. `left_over`: a zero_grad() that clears what several calls
    have added and no step has used, where other windows are whole; in how many it does so. `carried`: how many backward
    calls most steps use, and how many the first of each round, which also uses what the round before has left.
    `kept`: the zero_grad() that clears once for several steps, the parameters, and how many steps were seen to use what
    steps before have used.
    """

    windows: int
    stale: tuple[str, ...]
    backward: Site | None
    step: Site | None
    cleared_elsewhere: Site | None
    seldom: Site | None
    thrown_away: tuple[Stack, Stack] | None
    lost_windows: int
    lost_calls: int
    left_over: tuple[Site, int] | None
    carried: tuple[int, int] | None
    kept: tuple[Site, tuple[str, ...], int] | None


@dataclass(frozen=True, slots=True)
class Evaluated:
    """A line whose backward adds gradients of evaluation mode to those of training, and the call of eval() before."""

    backward: Site | None
    switched: Site | None
    times: int


def steps_of(case: Case) -> tuple[int, ...]:
    """The optimizers that step without a closure, by number."""
    found: dict[int, None] = {}
    for timeline in timelines(case):
        if not timeline.has_closures:
            found.update(dict.fromkeys(call.optimizer for _, call in timeline.of(STEP) if call.optimizer is not None))
    return tuple(found)


def held_by(case: Case, optimizer: int) -> dict[int, str]:
    """The parameters that an optimizer was seen to hold: names by tensor."""
    looks = (look for look in case.optimizer_looks() if look.optimizer == optimizer)
    return {one.tensor: one.name for look in looks for one in look.parameters}


@kept
def states_at(case: Case) -> dict[int, States]:
    """What each leaf's .grad held when a backward began, by backward; those that were not looked at are missing."""
    found: dict[int, States] = defaultdict(dict)
    for leaf in case.leaf_gradients():
        found[leaf.backward][leaf.tensor] = leaf.state
    return found


@kept
def accumulated(case: Case) -> dict[int, Accumulated]:
    """What the steps of each optimizer without a closure use, from all windows that are known."""
    found = ((optimizer, _accumulated(case, optimizer)) for optimizer in steps_of(case))
    return {optimizer: one for optimizer, one in found if one is not None}


def _accumulated(case: Case, optimizer: int) -> Accumulated | None:
    held, looked = held_by(case, optimizer), states_at(case)
    known = [window for window in _windows(case, optimizer) if _is_known(looked, window)]
    if not held or not known:
        return None
    seen: Counter[int] = Counter()
    emptied: set[int] = set()
    for window in known:
        states = [looked[one.backward.number] for one in window if one.backward is not None]
        for tensor in held:
            met = [state[tensor] for state in states if tensor in state]
            seen[tensor] += bool(met)
            if any(state in _EMPTY for state in met):
                emptied.add(tensor)
    stale = [held[tensor] for tensor, count in seen.items() if tensor not in emptied and count == len(known)]
    clears = [one for window in known for one in window if one.has(ZERO_GRAD)]
    astray = [one for window in known for one in _astray(window)]
    lost = _all_lost(list(_windows(case, optimizer)), known, looked)
    backwards = [one.site for window in known for one in window if one.backward is not None]
    return Accumulated(
        len(known),
        tuple(stale),
        backwards[-1],
        _step_of(case, optimizer),
        astray[-1].site if astray else None,
        None if clears or not stale else _seldom(case, optimizer),
        lost[0][:2] if lost else None,
        len(lost),
        min((calls for _, _, calls in lost), default=0),
        _left_over(_windows(case, optimizer)),
        _carried(list(_windows(case, optimizer)), looked, held),
        _kept(case, optimizer, known),
    )


def _astray(window: Sequence[Moment]) -> Iterator[Moment]:
    """The zero_grad() in a window but those which begin a round of their own optimizer that ends before the window's
    last backward: clear, backward, step. Such a one is where it belongs."""
    last = max((at for at, one in enumerate(window) if one.backward is not None), default=-1)
    for at, one in enumerate(window):
        if one.call is not None and one.has(ZERO_GRAD):
            own = one.call.optimizer
            of_own = (each for each in range(at + 1, last) if own is not None and _is_of(window[each], own))
            ends = next(of_own, None)
            stepped = ends is not None and window[ends].has(STEP)
            if not stepped or all(each.backward is None for each in window[at:ends]):
                yield one


def _is_of(one: Moment, optimizer: int) -> bool:
    return one.call is not None and one.call.optimizer == optimizer and one.has(STEP, ZERO_GRAD)


def _kept(case: Case, optimizer: int, known: Sequence[Sequence[Moment]]) -> tuple[Site, tuple[str, ...], int] | None:
    """The zero_grad() before several steps of the same backward, each of which but the first finds gradients there."""
    held, looked = held_by(case, optimizer), states_at(case)
    cleared = [window for window in known if any(one.has(ZERO_GRAD) for one in window)]
    kept = [window for window in known if _finds(window, looked, held)]
    rounds = [window for window in _windows(case, optimizer) if any(one.has(ZERO_GRAD) for one in window)]
    if not cleared or min(len(rounds), len(kept)) < _TIMES or len(cleared) + len(kept) < len(known):
        return None
    if len({_last_backward(window) for window in (*cleared, *kept)}) > 1:
        return None  # not the same loss
    own = [
        one.site for one in cleared[0] if one.call is not None and one.has(ZERO_GRAD) and _clears_for(one, optimizer)
    ]
    names = sorted(set.intersection(*({held[leaf] for leaf in _finds(one, looked, held)} for one in kept)))
    return (own[-1], tuple(names), len(kept)) if own and own[-1] is not None and names else None


def _clears_for(one: Moment, optimizer: int) -> bool:
    """Whether a zero_grad() is one of the optimizer, or of a module."""
    return one.call is not None and one.call.optimizer in (None, optimizer)


def _finds(window: Sequence[Moment], looked: dict[int, States], held: Container[int]) -> set[int]:
    """The parameters whose gradients each backward of a window found; none where some had none, or one was cleared."""
    if any(one.has(ZERO_GRAD, STEP) for one in window):
        return set()
    found = [{leaf: state for leaf, state in looked[one].items() if leaf in held} for one in _numbers(window)]
    if any(state is GradientState.NONE for met in found for state in met.values()):
        return set()
    return set.intersection(*({leaf for leaf, state in met.items() if state not in _EMPTY} for met in found))


def _numbers(window: Sequence[Moment]) -> list[int]:
    return [one.backward.number for one in window if one.backward is not None]


def _last_backward(window: Sequence[Moment]) -> Stack:
    return next((one.stack for one in reversed(window) if one.backward is not None), ())


def _seldom(case: Case, optimizer: int) -> Site | None:
    """A zero_grad() between any two steps."""
    found = (one.site for window in _windows(case, optimizer) for one in window if one.has(ZERO_GRAD))
    return next(found, None)


def _windows(case: Case, optimizer: int) -> Iterator[tuple[Moment, ...]]:
    for timeline in timelines(case):
        yield from timeline.windows(optimizer)


def _is_known(looked: Container[int], window: Sequence[Moment]) -> bool:
    """Whether each backward of a window was looked at, and there is one."""
    numbers = _numbers(window)
    return bool(numbers) and all(number in looked for number in numbers)


def _all_lost(windows: list[tuple[Moment, ...]], known: list[tuple[Moment, ...]], looked: Container[int]) -> list[Lost]:
    """What each known window has lost, if all have; or, where none of them has several calls, each later one."""
    lost = [_lost(*one) for one in _clears_of(known)]
    if any(len(_numbers(window)) > 1 for window in known):
        return [one for one in lost if one is not None] if all(lost) else []
    if not any(number in looked for window in windows for number in _numbers(window)[1:]):
        return []  # what may read gradients between two calls was not seen
    return grown(windows, [_lost(*one) for one in _clears_of(windows)])


def _lost(stack: Stack, between: Sequence[Moment | None]) -> Lost | None:
    """The zero_grad() that clears between a line's backward calls of a window, these, and how many are lost."""
    if not between or between[0] is None or any(one is None for one in between):
        return None
    return between[0].stack, stack, len(between)


def _left_over(windows: Iterator[Sequence[Moment]]) -> tuple[Site, int] | None:
    """The zero_grad() that clears what two calls or more have added, once in a window; in how many windows of all."""
    places: Counter[Site | None] = Counter()
    whole = 0
    for _, between in _clears_of(windows):
        cleared = [(calls, one.site) for calls, one in enumerate(between, 1) if one is not None]
        whole += len(between) > 0 and not cleared
        if len(cleared) == 1 and cleared[0][0] > 1:
            places[cleared[0][1]] += 1
    site, times = places.most_common(1)[0] if places else (None, 0)
    return (site, times) if site is not None and times > 1 and whole > times else None


def _carried(
    windows: list[tuple[Moment, ...]], looked: dict[int, States], held: Container[int]
) -> tuple[int, int] | None:
    """How many calls a step uses, and how many the first step of each round, where a round leaves some to the next."""
    calls = []
    for _, between in _clears_of(windows):
        if any(one is not None for one in between):
            return None
        calls.append(len(between) + 1)
    usual, most = min(calls), max(calls)
    if not 1 < usual < most < 2 * usual or set(calls) != {usual, most}:
        return None
    first, more = calls.index(most), [at for at, count in enumerate(calls) if count == most]
    if len(more) < _TIMES or more != list(range(first, len(calls), first + 1)):
        return None  # not so at the beginning of each round
    summed = any(_is_summed(windows[at], looked, held) for at in more)
    return (usual, most) if summed else None


def _is_summed(window: Sequence[Moment], looked: dict[int, States], held: Container[int]) -> bool:
    """Whether each backward of a window but the first was seen to find gradients, which nothing had cleared by hand."""
    numbers = _numbers(window)[1:]
    states = ([state for leaf, state in looked.get(one, {}).items() if leaf in held] for one in numbers)
    return all(any(one is GradientState.VALUES for one in met) for met in states)


def _clears_of(windows: Iterable[Sequence[Moment]]) -> Iterator[Cleared]:
    """What each window clears: those that are alike are looked at once."""
    known: dict[object, Cleared] = {}
    for window in windows:
        key = alike(window)
        if key not in known:
            known[key] = _clears(window)
        yield known[key]


def _clears(window: Sequence[Moment]) -> Cleared:
    """The line that calls backward most often in a window, and the zero_grad() that clears between two of its calls.

    Nothing is said to be between them where another optimizer steps there: the gradients may be for that one.
    """
    stacks = Counter(one.backward.stack for one in window if one.backward is not None)
    stack = stacks.most_common(1)[0][0] if stacks else ()
    if any(one.has(STEP) for one in window):
        return stack, []
    places = [at for at, one in enumerate(window) if one.backward is not None and one.backward.stack == stack]
    return stack, [next(filter(_is_clearing, window[first:last]), None) for first, last in pairwise(places)]


def _is_clearing(one: Moment) -> bool:
    return one.has(ZERO_GRAD) and one.call is not None and one.call.count > 0


def _step_of(case: Case, optimizer: int) -> Site | None:
    calls = (call for timeline in timelines(case) for _, call in timeline.of(STEP) if call.optimizer == optimizer)
    return next((call.site for call in calls), None)


def is_read_before(case: Case, optimizer: int) -> bool:
    """Whether the program itself reads gradients of an optimizer's parameters: it may have taken them elsewhere.

    Torch's clipping does not: it leaves them where they are.
    """
    flow = dataflow(case)
    held = held_by(case, optimizer)
    shapes = {flow.tensors[one].type.shape for one in held if one in flow.tensors}
    gradients: set[int] = set()
    others = {one.storage for one in flow.tensors.values() if one.parameter}  # those of which a backward makes views
    for operation in flow.operations:
        read = [flow.tensors[one.tensor] for one in operation.reads if one.tensor in flow.tensors]
        made = [flow.tensors[one] for one in operation.makes if one in flow.tensors]
        if operation.backward is not None:
            gradients |= {one.storage for one in made if one.type.shape in shapes} - others
        else:
            others |= {one.storage for one in made} - gradients
            own = any(one.storage in gradients and one.type.shape in shapes for one in read)
            if own and not is_optimizer(operation) and not is_clipping(operation.operation.stack):
                return True
    return False


def learns_while_evaluating(case: Case) -> list[Evaluated]:
    """The lines that call backward for what was computed in evaluation mode, where others train."""
    return [found for timeline in timelines(case) for found in _evaluated(timeline)]


def _evaluated(timeline: Timeline) -> Iterator[Evaluated]:
    seen = timeline.modes
    trained = {at for at, mode in seen.items() if mode == {True}}
    evaluated = [at for at, mode in seen.items() if mode == {False} and _is_kept(timeline, at, trained)]
    if not trained:
        return
    calls = Counter(timeline.moments[at].stack for at in evaluated)
    others = {timeline.moments[at].stack for at in trained}
    for stack, times in calls.items():
        if stack not in others:
            first = next(at for at in evaluated if timeline.moments[at].stack == stack)
            switch = timeline.moments[:first][::-1]
            yield Evaluated(user_site(stack), next((one.site for one in switch if one.has(EVAL, TRAIN)), None), times)


def _is_kept(timeline: Timeline, at: int, trained: set[int]) -> bool:
    """Whether gradients of training are added to those of a backward: neither a step nor zero_grad() comes before."""
    for place in range(at + 1, len(timeline.moments)):
        if timeline.moments[place].has(ZERO_GRAD, STEP):
            return False
        if place in trained:
            return True
    return False
