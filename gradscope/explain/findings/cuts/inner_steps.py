"""GS902: an inner step of meta-learning that takes the parameter's values and not the parameter."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import RecordedDataflow, dataflow
from gradscope.explain.evidence.timeline import timelines
from gradscope.model.flow import FlowEnd, GradientState
from gradscope.model.operation import base_name
from gradscope.model.site import Site

_SUMS = ("add", "sub", "rsub", "addcmul")
_FAR = 32  # operators between what a call gave and where it meets the parameter's values


@dataclass(frozen=True, slots=True)
class _Step:
    """Where values of what a gradient call was asked for meet its slopes, and what comes of it."""

    at: int
    site: Site
    target: int
    made: int


@dataclass(frozen=True, slots=True)
class _OuterStep:
    """A step of optimizers: the loss of the last backward before it, all since the step before, and what is held."""

    last: frozenset[int]
    losses: frozenset[int]
    held: frozenset[int]


def step_from_values(case: Case) -> Iterator[Cause]:
    """What it flags: an inner step `p.detach() - rate * slope` whose result an outer optimizer is to train p through.

    Why: a meta-gradient comes two ways, past the inner step by the parameter itself and through the slope. Without the
    first, which is by far the larger, all that is left is the second derivative: the start is moved somewhere else.

    Wrong:
        slopes = torch.autograd.grad(loss, params, create_graph=True)
        fast = [p.data - rate * slope for p, slope in zip(params, slopes)]

    Right:
        slopes = torch.autograd.grad(loss, params, create_graph=True)
        fast = [p - rate * slope for p, slope in zip(params, slopes)]

    Do instead: subtract from the parameter itself; for a first-order update detach the slope, not the parameter.

    How it is found: an operator adds slopes that grad(create_graph=True) gave to a tensor without gradients, which
    shares its memory with what the call was asked for, or is a copy of it. A backward starts from what comes of it, an
    optimizer that holds the parameter steps next, and no loss of that step reaches the parameter but through slopes.
    """
    flow = dataflow(case)
    steps = list(_inner_steps(case, flow))
    if not steps:
        return
    told: set[Site] = set()
    roots = {root.tensor for root in flow.roots}
    ends = {one: flow.onward(one).live & roots for step in steps for one in (step.made, step.target)}
    for outer in _outer_steps(case, flow):
        for site in _cut_for(ends, steps, outer) - told:
            told.add(site)
            yield Cause(
                "this takes a step from the values of a parameter: its meta-gradient is what comes through the slope",
                site,
            )


def _outer_steps(case: Case, flow: RecordedDataflow) -> Iterator[_OuterStep]:
    """Each optimizer's steps, with the parameters that it was seen to step: not each step was looked at."""
    roots: dict[int, set[int]] = defaultdict(set)
    for root in flow.roots:
        if root.requires_grad:
            roots[root.backward].add(root.tensor)
    trained: dict[int, set[int]] = defaultdict(set)
    for look in case.optimizer_looks():
        held = (one.tensor for one in look.parameters if one.state is GradientState.VALUES)
        trained[look.optimizer].update(held)
    for timeline in timelines(case):
        for optimizer, parameters in trained.items():
            for window in timeline.windows(optimizer, first=True):
                calls = [moment.backward.number for moment in window if moment.backward is not None]
                if calls and roots[calls[-1]]:
                    losses = frozenset[int]().union(*(roots[call] for call in calls))
                    yield _OuterStep(frozenset(roots[calls[-1]]), losses, frozenset(parameters))


def _cut_for(ends: dict[int, set[int]], steps: list[_Step], outer: _OuterStep) -> frozenset[Site]:
    """The lines whose results the last loss is computed of, and that cut parameters off which have no other way there.

    What another optimizer steps, as the weights behind an architecture or weights of samples, has a loss of its own.
    """
    reached = {one.site for one in steps if not outer.last.isdisjoint(ends[one.made])}
    cut = (one for one in steps if one.site in reached and one.target in outer.held)
    return frozenset(one.site for one in cut if outer.losses.isdisjoint(ends[one.target]))


def _inner_steps(case: Case, flow: RecordedDataflow) -> Iterator[_Step]:
    calls = {call.number for call in case.backwards() if call.kind == "grad" and call.create_graph}
    targets: dict[int, list[FlowEnd]] = defaultdict(list)
    for end in flow.ends:
        if end.target and end.backward in calls:
            targets[end.backward].append(end)
    given: dict[int, int] = {}  # by tensor, the call that gave it
    for at, operation in enumerate(flow.operations):
        if operation.backward in calls:
            given.update((made, operation.backward) for made in operation.makes if operation.backward is not None)
        elif given and operation.backward is None and base_name(operation.operation.name) in _SUMS:
            found = _inner_step(flow, at, given, targets)
            if found is not None:
                yield found


def _inner_step(
    flow: RecordedDataflow, at: int, given: dict[int, int], targets: dict[int, list[FlowEnd]]
) -> _Step | None:
    """What an operator is, if it adds slopes to the values of what they belong to."""
    operation = flow.operations[at]
    values = [read.tensor for read in operation.reads if not read.requires_grad]
    slopes = [read.tensor for read in operation.reads if read.requires_grad]
    if len(values) != 1 or not slopes or operation.site is None or len(operation.makes) != 1:
        return None
    call = next((one for one in (_call_of(flow, slope, at, given) for slope in slopes) if one is not None), None)
    origins = _storages_of(flow, values[0], at) if call is not None else set()
    for end in targets.get(call, ()) if call is not None else ():
        known = flow.tensors.get(end.tensor)
        if known is not None and known.storage in origins and known.type.shape == flow.shape(operation.makes[0]):
            return _Step(at, operation.site, end.tensor, operation.makes[0])
    return None


def _call_of(flow: RecordedDataflow, tensor: int, before: int, given: dict[int, int]) -> int | None:
    """The gradient call that gave a slope, behind factors, clamps and sums."""
    waiting, seen = [(tensor, before)], {tensor}
    while waiting and len(seen) < _FAR:
        one, until = waiting.pop()
        if one in given:
            return given[one]
        for maker in flow.sources(one, until):
            reads = [read.tensor for read in flow.operations[maker].reads if read.requires_grad]
            waiting += [(read, maker) for read in reads if read not in seen]
            seen.update(reads)
    return None


def _storages_of(flow: RecordedDataflow, tensor: int, before: int) -> set[int]:
    """The memory of a tensor without gradients, and of what it is a copy or a multiple of."""
    found: set[int] = set()
    seen = {tensor}
    place: int | None = tensor
    while place is not None and place in flow.tensors and len(seen) < _FAR:
        found.add(flow.tensors[place].storage)
        maker = flow.maker(place, before)
        reads = () if maker is None else flow.operations[maker].reads
        place = reads[0].tensor if len(reads) == 1 and reads[0].tensor not in seen else None
        seen.update(read.tensor for read in reads)
        before = before if maker is None else maker
    return found
