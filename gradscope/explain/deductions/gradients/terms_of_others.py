"""Terms of a loss that give gradients to another optimizer's parameters alone, where these are cleared before it steps.

Module.zero_grad() does not tell whose parameters it clears: what .grad held when the next backward began does.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from gradscope.explain.deductions.gradients.lost_parts import comes_from
from gradscope.explain.deductions.steps.gradients_of_steps import held_by, is_read_before, states_at, steps_of
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import Cut, RecordedDataflow, dataflow
from gradscope.explain.evidence.timeline import Timeline, is_whole, timelines
from gradscope.model.flow import GradientState
from gradscope.model.operation import base_name
from gradscope.model.site import Site, Stack
from gradscope.model.training import STEP, ZERO_GRAD
from gradscope.store.asked import kept

_ADDS = ("add", "sub", "rsub", "add_", "sub_")
_KEEPS = ("mul", "div", "neg", "sum", "mean")
_TIMES = 3
_EMPTY = (GradientState.NONE, GradientState.ZERO)
Event = tuple[bool, int | None]  # whether it is a step, else it clears; the backward call after it


@dataclass(frozen=True, slots=True)
class TermOfOthers:
    """A term of the loss of `backward` that is detached at `cut`, and whose gradients go to `names` alone; or that is
    computed there from what was detached for another loss (`shared`)."""

    cut: Site
    backward: Site | None
    names: tuple[str, ...]
    shared: bool = False


@dataclass(slots=True)
class _Use:
    """What becomes of the gradients of a line's backward calls: the optimizers that step before the next call, and of
    each optimizer how often its gradients were cleared, and used."""

    own: set[int] = field(default_factory=set)
    cleared: Counter[int] = field(default_factory=Counter)
    used: Counter[int] = field(default_factory=Counter)

    @property
    def others(self) -> frozenset[int]:
        """The optimizers whose gradients are cleared each time."""
        return frozenset(one for one, times in self.cleared.items() if times >= _TIMES and not self.used[one])


def terms_of_others(case: Case) -> Iterator[TermOfOthers]:
    """Those of backward calls after each of which the others' gradients are cleared, and never used."""
    if len(steps_of(case)) < 2 or not is_whole(case):
        return
    found: dict[tuple[Stack, Site], TermOfOthers] = {}
    holders: dict[tuple[Stack, Site], set[int]] = {}
    calls = {call.number: call for call in case.backwards() if call.kind == "backward" and call.exception is None}
    for root in dataflow(case).roots:
        call = calls.get(root.backward)
        use = _uses(case).get(call.stack) if call is not None else None
        if call is None or use is None or not use.others or not use.own or not _is_always_so(case, call.stack):
            continue
        for cut, names, shared in _terms(case, root.tensor, use):
            found[call.stack, cut] = TermOfOthers(cut, call.site, tuple(names.values()), shared)
            holders[call.stack, cut] = {one for one in use.others if not names.keys().isdisjoint(held_by(case, one))}
    for key, term in found.items():
        if not any(is_read_before(case, one) for one in holders[key]):
            yield term


def _is_always_so(case: Case, stack: Stack) -> bool:
    """Whether a line's backward calls all have the same graph: a term may be detached for a while."""
    return len({case.like().get(call.number) for call in case.backwards() if call.stack == stack}) == 1


@kept
def _uses(case: Case) -> dict[Stack, _Use]:
    """By the stack of the backward calls."""
    found: dict[Stack, _Use] = defaultdict(_Use)
    for timeline in timelines(case):
        _note(case, timeline, found)
    return found


def _note(case: Case, timeline: Timeline, found: dict[Stack, _Use]) -> None:
    optimizers = steps_of(case)
    events: dict[int, Event] = {}
    soon: set[int] = set()
    following: int | None = None
    for moment in reversed(timeline.moments):
        call = moment.call
        if moment.backward is not None:
            use = found[moment.stack]
            use.own |= soon
            for optimizer, event in events.items():
                use.used[optimizer] += event[0]
                use.cleared[optimizer] += not event[0] and _is_empty(case, optimizer, event[1])
            soon, following = set(), moment.backward.number
        elif call is not None and call.kind is STEP and call.optimizer is not None:
            soon.add(call.optimizer)
            events[call.optimizer] = True, following
        elif call is not None and call.kind is ZERO_GRAD:
            one = call.optimizer
            events |= {one: (False, None)} if one is not None else dict.fromkeys(optimizers, (False, following))


def _is_empty(case: Case, optimizer: int, following: int | None) -> bool:
    """Whether a backward found nothing in the gradients of an optimizer's parameters; where it is None, it is known."""
    if following is None:
        return True
    states = states_at(case).get(following, {})
    met = [states[one] for one in held_by(case, optimizer) if one in states]
    return bool(met) and all(state in _EMPTY for state in met)


def _terms(case: Case, root: int, use: _Use) -> Iterator[tuple[Site, dict[int, str], bool]]:
    """The lines that detach terms of a loss from what steps, or that compute them from what was detached for another
    loss, and the parameters that learn from them instead."""
    flow = dataflow(case)
    own = frozenset(tensor for one in use.own for tensor in held_by(case, one))
    names = {tensor: name for one in use.others for tensor, name in held_by(case, one).items()}
    for term, before in _summands(flow, root, len(flow.operations)):
        leaves, constants = _learned(flow, term, before)
        if not leaves or not leaves <= names.keys() - own:
            continue
        cuts = (cut for tensor, reader in constants for cut in flow.behind(tensor, reader))
        cut = next((one for one in cuts if _is_detached(flow, one) and comes_from(flow, one, own)), None)
        if cut is not None:
            shared = _goes_into_another(flow, cut, root)
            made = flow.maker(term, before) if shared else cut.operation
            site = None if made is None else flow.operations[made].site
            if site is not None:
                yield site, {one: names[one] for one in sorted(leaves)}, shared


def _goes_into_another(flow: RecordedDataflow, cut: Cut, root: int) -> bool:
    """Whether what a cut made goes into another loss, too: it is detached for that, and to be left alone."""
    ends = {one.tensor for one in flow.roots} - {root}
    waiting = [] if cut.made is None else [cut.made]
    seen = set(waiting)
    while waiting:
        readers = (flow.operations[at] for at in flow.readers.get(waiting.pop(), ()))
        new = {made for one in readers if one.backward is None for made in one.makes} - seen
        if not ends.isdisjoint(new):
            return True
        seen |= new
        waiting += new
    return False


def _is_detached(flow: RecordedDataflow, cut: Cut) -> bool:
    return base_name(flow.operations[cut.operation].operation.name) == "detach"


def _summands(flow: RecordedDataflow, tensor: int, before: int) -> Iterator[tuple[int, int]]:
    """What a loss is the sum of and what learns, each with the operator that adds it."""
    waiting, seen = [(tensor, before)], {tensor}
    while waiting:
        part, until = waiting.pop()
        makers = [at for at in flow.sources(part, until) if flow.operations[at].backward is None]
        operation = flow.operations[makers[-1]] if makers else None
        name = "" if operation is None else base_name(operation.operation.name)
        learned = [] if operation is None else [read.tensor for read in operation.reads if read.requires_grad]
        if name in _ADDS or (name in _KEEPS and len(learned) == 1):
            waiting += [(one, makers[-1]) for one in learned if one not in seen]
            seen.update(learned)
        else:
            yield part, until


def _learned(flow: RecordedDataflow, tensor: int, before: int) -> tuple[set[int], list[tuple[int, int]]]:
    """The leaves that a term gives gradients to, and what has no graph in it, with the operators that read it."""
    leaves, constants = set[int](), list[tuple[int, int]]()
    waiting, seen = [(tensor, before)], {tensor}
    while waiting:
        one, until = waiting.pop()
        for at in flow.sources(one, until):
            operation = flow.operations[at]
            for read in operation.reads if operation.backward is None else ():
                if read.leaf and read.requires_grad:
                    leaves.add(read.tensor)
                elif not read.requires_grad:
                    constants.append((read.tensor, at))
                elif read.tensor not in seen:
                    seen.add(read.tensor)
                    waiting.append((read.tensor, at))
    return leaves, constants
