"""Gradients that a program uses by hand between backward calls that go on adding to them.

A backward that finds a gradient adds to it in place; one that was cleared with None gets a new one. A program that
writes to the gradient in between clears it, or lets it fade, and is left out. Long runs are not seen as a whole.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from gradscope.explain.deductions.steps.gradients_of_steps import states_at
from gradscope.explain.deductions.steps.moved_by_hand import Mover
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import RecordedDataflow, dataflow, is_optimizer
from gradscope.explain.evidence.list_operators import written_by
from gradscope.explain.evidence.optimizers import is_clipping
from gradscope.model.flow import GradientState
from gradscope.model.operation import base_name
from gradscope.model.site import Site

_TIMES = 3  # of the same, before it is said that it goes on so


@dataclass(frozen=True, slots=True)
class SummedByHand:
    """The line that uses such a gradient, that of the backward calls, and how often it used a sum."""

    update: Site
    backward: Site | None
    times: int


@dataclass(frozen=True, slots=True)
class _Window:
    """What follows a backward that made or added to a gradient, up to the next one that does: the operator that moves
    something by it, and whether all that ran was recorded."""

    backward: int
    moved: int | None
    whole: bool


def summed_by_hand(case: Case) -> Iterator[SummedByHand]:
    """What is told of each line that moves a leaf by its gradient, where that is a sum each time but the first."""
    flow, sites = dataflow(case), {call.number: call.site for call in case.backwards()}
    sums = _sums(flow, sites)
    if not sums:
        return
    calls: dict[tuple[Site, Site | None], set[int]] = defaultdict(set)
    shapes: dict[tuple[Site, Site | None], set[tuple[int, ...]]] = defaultdict(set)
    mover, own = Mover(case), _own(flow)
    runs = sorted({operation.run for operation in flow.operations})
    for gradient, places in sums.items():
        known = flow.tensors.get(gradient)
        if known is None or known.storage in own or _was_cleared(case, known.type.shape, places):
            continue
        for at, backward, is_sum in _updates(_windows(flow, mover, gradient, places, runs), sites):
            site = flow.operations[at].site
            if site is not None:
                calls[site, sites.get(backward)].update([backward] if is_sum else ())
                shapes[site, sites.get(backward)].add(known.type.shape)
    for (site, call), found in calls.items():
        if not _found_one(case, call, shapes[site, call]):
            continue  # no look tells that none was cleared out of sight
        yield SummedByHand(site, call, max(len(found), _looked(case, site, call, shapes[site, call])))


def added_to(flow: RecordedDataflow) -> set[int]:
    """The tensors that a backward made and a later one wrote in place."""
    return {
        made
        for operation in flow.operations
        if operation.backward is not None and base_name(operation.operation.name) == "add_"
        for made in operation.makes
        if _made_in_backward(flow, made)
    }


def _made_in_backward(flow: RecordedDataflow, tensor: int) -> bool:
    first = flow.operations[flow.makers[tensor][0]] if flow.makers.get(tensor) else None
    return first is not None and first.backward is not None


def _sums(flow: RecordedDataflow, sites: dict[int, Site | None]) -> dict[int, list[int]]:
    """The tensors that several backward calls have added to, where nothing else has written to them: by those, the
    places at which they hold gradients. A hook that adds to a tensor of its own does so on its own line."""
    found: dict[int, list[int]] = {}
    for tensor in {made for one in flow.operations if one.backward is not None for made in one.makes}:
        first, *later = (at for at in flow.makers[tensor] if not is_clipping(flow.operations[at].operation.stack))
        calls = [flow.operations[at].backward for at in (first, *later)]
        if later and len(set(calls)) == len(calls) and all(_adds(flow, at, sites) for at in later):
            found[tensor] = later if calls[0] is None else [first, *later]  # the program may have begun with zeros
    return found


def _adds(flow: RecordedDataflow, at: int, sites: dict[int, Site | None]) -> bool:
    operation = flow.operations[at]
    is_inside = operation.backward is not None and operation.site == sites.get(operation.backward)
    return is_inside and base_name(operation.operation.name) == "add_"


def _own(flow: RecordedDataflow) -> set[int]:
    """The memory that the program writes in place, also as .grad.data.zero_() does. Clipping clears none."""
    outside = (one for one in flow.operations if one.backward is None and not is_clipping(one.operation.stack))
    written = (tensor for one in outside for tensor in written_by(one))
    return {flow.tensors[one].storage for one in written if one in flow.tensors}


def _was_cleared(case: Case, shape: tuple[int, ...], places: list[int]) -> bool:
    """Whether a backward that adds found no leaf of a shape with a gradient, so that one was cleared out of sight:
    .grad.data = zeros, .grad.numpy().fill(0)."""
    calls = (dataflow(case).operations[at].backward for at in places[1:])
    found = (_held(case, call, {shape}) for call in calls if call is not None)
    return any(one and GradientState.VALUES not in one for one in found)


def _found_one(case: Case, backward: Site | None, shapes: set[tuple[int, ...]]) -> bool:
    """Whether a backward of a line was looked at and found a gradient."""
    calls = (call.number for call in case.backwards() if call.site == backward)
    return any(GradientState.VALUES in _held(case, call, shapes) for call in calls)


def _held(case: Case, backward: int, shapes: set[tuple[int, ...]]) -> list[GradientState]:
    """What a backward found in .grad of the leaves of some shapes; nothing where it was not looked at."""
    flow = dataflow(case)
    return [state for tensor, state in states_at(case).get(backward, {}).items() if flow.shape(tensor) in shapes]


def _windows(flow: RecordedDataflow, mover: Mover, gradient: int, places: list[int], runs: list[int]) -> list[_Window]:
    """None where an optimizer moves by it: that one has findings of its own."""
    found = []
    for at, until in pairwise([*places, len(flow.operations)]):
        operation, moved = flow.operations[at], mover.moved(gradient, at, until)
        if moved is not None and is_optimizer(flow.operations[moved]):
            return []
        if operation.backward is not None:
            whole = until < len(flow.operations) and _is_whole(runs, operation.run, flow.operations[until].run)
            found.append(_Window(operation.backward, moved, whole))
    return found


def _is_whole(runs: list[int], first: int, last: int) -> bool:
    """Whether all stretches of operators between two were recorded."""
    return bisect_left(runs, last) - bisect_left(runs, first) == last - first


def _updates(windows: list[_Window], sites: dict[int, Site | None]) -> Iterator[tuple[int, int, bool]]:
    """The operators that move by what another backward then adds to, or has added to when it was used before: all in
    between was recorded, so that nothing cleared it. With the backward before each, and whether it uses such a sum."""
    unmoved = {sites.get(one.backward) for one in windows if one.whole and one.moved is None}
    used = False
    for window in windows:
        is_next = window.whole and sites.get(window.backward) not in unmoved  # else it is used in another way as well
        if window.moved is not None and (used or is_next):
            yield window.moved, window.backward, used
        used = (used or window.moved is not None) and window.whole


def _looked(case: Case, update: Site, backward: Site | None, shapes: set[tuple[int, ...]]) -> int:
    """How often a backward of a line was looked at and found the gradients that it adds to, in a run most of which is
    not recorded; 0 where one was cleared."""
    found = (_held(case, call.number, shapes) for call in case.backwards() if call.site == backward)
    later = [one for one in found if one][1:]
    if any(state is not GradientState.VALUES for one in later for state in one):
        return 0
    return len(later) if len(later) >= _TIMES and _runs(case, update) > _TIMES else 0


def _runs(case: Case, update: Site) -> int:
    """In how many stretches a line ran."""
    return sum(any(one.site == update for one in block.operations) for block in case.blocks() if block.backward is None)
