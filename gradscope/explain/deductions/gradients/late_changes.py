"""Finds parameters that were trained at first, and to which no gradient comes any more.

Many a program means that: a head that rests, a loss that is switched off. So nothing follows from it alone. What counts
is what the operators of the steps after it show: a value of the parameter that is cut on its way to the loss, or a
parameter that nothing reads while another in no optimizer stands in its place.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from gradscope.explain.deductions.lines.graph_cuts import birth
from gradscope.explain.deductions.steps.optimizer_parameters import is_updated_by_hand
from gradscope.explain.deductions.steps.rebound_leaves import rebound
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import RecordedDataflow, dataflow
from gradscope.explain.evidence.timeline import Moment, timelines
from gradscope.model.flow import FlowTensor, GradientState, HeldParameter, OptimizerLook
from gradscope.model.graph import Backward
from gradscope.model.site import Stack, user_site
from gradscope.model.training import STEP
from gradscope.store.asked import kept

_STEADY, _GONE = 2, 2  # looks that saw a gradient before the change, and that saw none since
_INITIALISES, _COPIES = "torch/nn/init.py", "torch/nn/parameter.py"


Looks = list[tuple[OptimizerLook, HeldParameter]]


@dataclass(frozen=True, slots=True)
class LateSilence:
    """A parameter without a gradient from the optimizer's step `look` on, which had one at each look before.

    `flow` is what operators did since then.
    """

    held: HeldParameter
    look: OptimizerLook
    flow: RecordedDataflow


@dataclass(frozen=True, slots=True)
class Replacement:
    """Parameters that get gradients and are in no optimizer, since others that one holds get none any more."""

    old: tuple[LateSilence, ...]
    new: tuple[FlowTensor, ...]
    made: Stack


@kept
def late_silences(case: Case) -> tuple[LateSilence, ...]:
    """Every parameter whose gradient has gone for good, in the order of the optimizers' parameters."""
    return _silences(case, _seen(case))


@kept
def late_zeros(case: Case) -> tuple[LateSilence, ...]:
    """Every parameter whose gradient is there and exactly zero from a step on, seen once at least: few steps are
    looked at, where nothing else changes."""
    return _silences(case, _seen(case), GradientState.ZERO, 1)


def _seen(case: Case) -> list[Looks]:
    """What each look of an optimizer saw of each of its parameters."""
    states: dict[tuple[int, int], Looks] = defaultdict(list)
    for look in case.optimizer_looks():
        for parameter in look.parameters:
            states[look.optimizer, parameter.tensor].append((look, parameter))
    return list(states.values())


@kept
def unexplained_silences(case: Case) -> tuple[LateSilence, ...]:
    """Those of them whose parameter was not replaced: where another took its place, nothing of its own was cut."""
    found = late_replacement(case)
    names = {one.leaf for one in found.new} if found is not None else set()
    old = {one.held.tensor for one in found.old} if found is not None else set()
    return tuple(one for one in late_silences(case) if one.held.tensor not in old and one.held.name not in names)


def _silences_after_phases(case: Case) -> tuple[LateSilence, ...]:
    """The same of parameters that an optimizer of a phase before had trained."""
    states: dict[int, Looks] = defaultdict(list)
    for look in case.optimizer_looks():
        for parameter in look.parameters:
            states[parameter.tensor].append((look, parameter))
    return _silences(case, [seen for seen in states.values() if len({look.optimizer for look, _ in seen}) > 1])


def _silences(
    case: Case, states: Iterable[Looks], gone: GradientState = GradientState.NONE, times: int = _GONE
) -> tuple[LateSilence, ...]:
    flows: dict[int | None, RecordedDataflow] = {}
    found = []
    for seen in states:
        kinds = [held.state for _, held in seen]
        trained = next((at for at, kind in enumerate(kinds) if kind is gone), len(kinds))
        is_steady = trained >= _STEADY and set(kinds[:trained]) == {GradientState.VALUES}
        if is_steady and len(kinds) - trained >= times and set(kinds[trained:]) == {gone}:
            look, held = seen[trained]
            if look.backward not in flows:
                flows[look.backward] = _since(case, look)
            found.append(LateSilence(held, look, flows[look.backward]))
    return tuple(found)


def flow_of(case: Case, first: OptimizerLook, last: OptimizerLook) -> RecordedDataflow:
    """What operators did from the forward of an optimizer's step on, towards the backward calls up to another one."""
    until = -1 if last.backward is None else last.backward
    return _since(case, first, until)


def _since(case: Case, look: OptimizerLook, until: int | None = None) -> RecordedDataflow:
    """What operators did from the forward of an optimizer's step on."""
    began, flow = _began(case, look), dataflow(case)
    late = {block.number for block in case.blocks() if block.started >= began}
    first = next((at for at, one in enumerate(flow.operations) if one.run in late), len(flow.operations))
    calls = {call.number for call in case.backwards() if call.started >= began}
    return flow.since(first, calls if until is None else {one for one in calls if one <= until})


def _began(case: Case, look: OptimizerLook) -> float:
    """When the backward before the one that an optimizer's step belongs to began: the forward follows it."""
    last = None if look.backward is None else case.backwards_by_number().get(look.backward)
    earlier = [call for call in case.backwards() if last is not None and _is_before(call, last)]
    return max((call.started for call in earlier), default=0.0)


def _is_before(call: Backward, last: Backward) -> bool:
    return call.nested_in is None and call.thread == last.thread and call.number < last.number


@kept
def late_replacement(case: Case) -> Replacement | None:
    """Parameters that took the place of those that an optimizer holds, after these had been trained."""
    silences = late_silences(case) or _silences_after_phases(case)
    old = [one for one in silences if one.flow.operations and not one.flow.is_used(one.held.tensor)]
    if not old:
        return None
    began = _began(case, old[0].look)
    early = {leaf.tensor for leaf in case.leaf_gradients() if _started(case, leaf.backward) <= began}
    late = dict.fromkeys(leaf.tensor for leaf in case.leaf_gradients() if _started(case, leaf.backward) > began)
    held = {parameter.tensor for look in case.optimizer_looks() for parameter in look.parameters}
    tensors = old[0].flow.tensors
    unheld = [tensors[one] for one in late if one not in early | held and one in tensors]
    new = tuple(one for one in unheld if one.parameter and not is_updated_by_hand(case, one))
    if new:
        return Replacement(tuple(old), new, _made(case, began) or _copied(case, new[0], _stepped(case, old[0].look)))
    other = rebound(case, [one.held.tensor for one in old], early)
    return None if other is None else Replacement(tuple(old), (other.leaf,), (other.site,))


@kept
def stale_replacement(case: Case) -> Replacement | None:
    """Parameters that took the place, and the name, of those that an optimizer goes on to step with old gradients.

    The old ones keep the gradients of before, where nothing clears what the module no longer has: so what counts is
    that no backward that was looked at has reached them since.
    """
    reached = _leaves_by_backward(case)
    for look in reversed(case.optimizer_looks()):
        old, new, began = [], dict[int, FlowTensor](), 0.0
        for one in look.parameters:
            calls = [number for number, leaves in reached.items() if one.tensor in leaves]
            later = [number for number in reached if calls and calls[-1] < number <= (look.backward or 0)]
            came = [leaf for number in later for leaf in _came(case, reached, number, calls[-1], one)]
            if came and not _since(case, look).is_used(one.tensor):
                old.append(LateSilence(one, look, dataflow(case)))
                new.update((leaf.number, leaf) for leaf in came)
                began = _started(case, calls[-1])
        if old:
            first = next(iter(new.values()))
            return Replacement(tuple(old), tuple(new.values()), _made(case, began) or _copied(case, first, began))
    return None


def _came(case: Case, reached: dict[int, set[int]], call: int, last: int, old: HeldParameter) -> Iterator[FlowTensor]:
    """The parameters of a backward that no optimizer holds, new since another one, and of the name of an old one."""
    tensors = dataflow(case).tensors
    held = {one.tensor for look in case.optimizer_looks() for one in look.parameters}
    before = {at for number, leaves in reached.items() if number <= last for at in leaves}
    for at in reached[call] - held - before:
        leaf = tensors.get(at)
        if leaf is not None and leaf.parameter and _is_named(leaf, old.name) and not is_updated_by_hand(case, leaf):
            yield leaf


def _leaves_by_backward(case: Case) -> dict[int, set[int]]:
    """The leaves of each backward that was looked at, in order."""
    found: dict[int, set[int]] = defaultdict(set)
    for leaf in sorted(case.leaf_gradients(), key=lambda leaf: leaf.backward):
        found[leaf.backward].add(leaf.tensor)
    return dict(found)


def _is_named(leaf: FlowTensor, name: str) -> bool:
    """Whether two parameters are one attribute of one module; the model may have another name in each."""
    ends = [(leaf.leaf or "").split("."), name.split(".")]
    length = min(map(len, ends))
    return length > 1 and ends[0][-length:] == ends[1][-length:]


def _started(case: Case, backward: int) -> float:
    call = case.backwards_by_number().get(backward)
    return 0.0 if call is None else call.started


def _made(case: Case, began: float) -> Stack:
    """Where since then a module's parameters were first initialised; empty for nowhere."""
    for block in case.blocks():
        if block.backward is None and block.started >= began:
            for operation in block.operations:
                if any(site.file.replace("\\", "/").endswith(_INITIALISES) for site in operation.stack):
                    return operation.stack
    return ()


def _stepped(case: Case, look: OptimizerLook) -> float:
    """When the backward of an optimizer's own step before one began: others may step in between."""
    for timeline in timelines(case):
        places = [at for at, call in timeline.of(STEP) if call.optimizer == look.optimizer]
        own = (one for one in pairwise(places) if _holds(timeline.moments[slice(*one)], look.backward))
        before = next((timeline.moments[first - 1 :: -1] for first, _ in own), ())
        return next((one.backward.started for one in before if one.backward is not None), 0.0)
    return 0.0


def _holds(moments: Sequence[Moment], backward: int | None) -> bool:
    return any(one.backward is not None and one.backward.number == backward for one in moments)


def _copied(case: Case, new: FlowTensor, began: float) -> Stack:
    """Where since then a parameter came to be that nothing initialised: that of a copy, of the only line that makes
    any where its own birth was not recorded; empty for nowhere."""
    made = birth(case, new.number)
    ended = min(
        (_started(case, leaf.backward) for leaf in case.leaf_gradients() if leaf.tensor == new.number), default=0
    )
    between = [one for one in case.blocks() if one.backward is None and began <= one.started < ended]
    stacks = [one.stack for block in between for one in block.operations]
    copies = [stack for stack in stacks if any(site.file.replace("\\", "/").endswith(_COPIES) for site in stack)]
    lines = {user_site(stack) for stack in copies}
    return made if made in copies else copies[0] if not made and len(lines) == 1 else ()
