"""GS893: the gradients of one network are clipped, and the step goes along those of another."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import groupby

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.steps.gradients_of_steps import held_by, steps_of
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import RecordedDataflow, dataflow
from gradscope.explain.evidence.optimizers import is_clipping
from gradscope.explain.evidence.timeline import Moment, Timeline, timelines
from gradscope.model.finding import Related
from gradscope.model.site import Site
from gradscope.model.training import CLIP, STEP, ZERO_GRAD, TrainingCall

_TIMES = 3
Shapes = Counter[tuple[int, ...]]


def clips_another(case: Case) -> Iterator[Cause]:
    """What it flags: clip_grad_norm_() is given the parameters of a network that is not stepped, between a backward and
    the step of another network's optimizer.

    Why: clipping changes the gradients of the parameters that it is given. Those that the step goes along stay as large
    as they are: one bad batch throws the network away.

    Wrong:
        torch.nn.utils.clip_grad_norm_(critic.parameters(), 1.0)
        actor_optimizer.step()

    Right:
        torch.nn.utils.clip_grad_norm_(actor.parameters(), 1.0)
        actor_optimizer.step()

    Do instead: clip what the optimizer that steps next holds.

    How it is found: the shapes of the gradients that the line clips are those of one optimizer's parameters and of no
    other's. Each time that it ran, that optimizer did not step before the next backward, a zero_grad() or another call
    that clips the same; another did, whose gradients no line clips. A call whose bound is infinite measures, and is
    left out.
    """
    shapes = _held_shapes(case)
    if len(shapes) < 2:
        return
    owners = dict(_owners(dataflow(case), shapes))
    for timeline in timelines(case) if owners else ():
        if not timeline.has_closures:
            yield from _clipped_for_others(timeline, owners)


def _clipped_for_others(timeline: Timeline, owners: dict[Site, int | None]) -> Iterator[Cause]:
    times: Counter[Site] = Counter()
    wasted: dict[Site, list[TrainingCall]] = defaultdict(list)
    for at, call in timeline.of(CLIP):
        if call.site is not None and call.count:
            times[call.site] += 1
            step = _step_of_others(timeline, at, owners)
            wasted[call.site] += [] if step is None else [step]
    for site, steps in wasted.items():
        others = {one.optimizer for one in steps}
        if len(steps) == times[site] >= _TIMES and not others & set(owners.values()) and None not in owners.values():
            message = (
                "the step that follows goes along the gradients of other parameters than this clips: in "
                f"{len(steps)} of {len(steps)} calls"
            )
            place = steps[0].site
            yield Cause(message, site, () if place is None else (Related("called_at", place, "step"),))


def _step_of_others(timeline: Timeline, at: int, owners: dict[Site, int | None]) -> TrainingCall | None:
    """The step that follows a call of clipping, where it is of another optimizer, and that of the one whose gradients
    are clipped comes after they are cleared or added to, or clipped anew."""
    owner = _owner(timeline.moments[at], owners)
    found: TrainingCall | None = None
    for one in timeline.moments[at + 1 :] if owner is not None else ():
        if one.backward is not None or one.has(ZERO_GRAD) or _owner(one, owners) == owner:
            return found
        if one.has(STEP) and one.call is not None:
            if one.call.optimizer == owner:
                return None
            found = found or one.call
    return found


def _owner(moment: Moment, owners: dict[Site, int | None]) -> int | None:
    return owners.get(moment.site) if moment.has(CLIP) and moment.site is not None else None


def _held_shapes(case: Case) -> dict[int, Shapes]:
    """The shapes of what each optimizer holds, where all of them are known."""
    tensors = dataflow(case).tensors
    held = {optimizer: held_by(case, optimizer) for optimizer in steps_of(case)}
    return {
        optimizer: Counter(tensors[one].type.shape for one in names)
        for optimizer, names in held.items()
        if names and all(one in tensors for one in names)
    }


def _owners(flow: RecordedDataflow, shapes: dict[int, Shapes]) -> Iterator[tuple[Site, int | None]]:
    """The lines that clip, each with the one optimizer whose parameters' gradients it was given; None where that is
    not known."""
    found: dict[Site, set[int | None]] = {}
    for site, given in _clipped(flow):
        fitting = [optimizer for optimizer, held in shapes.items() if given <= held]
        found.setdefault(site, set()).add(fitting[0] if len(fitting) == 1 else None)
    for site, owners in found.items():
        yield site, next(iter(owners)) if len(owners) == 1 else None


def _clipped(flow: RecordedDataflow) -> Iterator[tuple[Site, Shapes]]:
    """The shapes of the gradients that each call of torch's clipping was given, by the line that called it."""
    places = enumerate(flow.under(is_clipping))
    for (_, site), run in groupby(places, lambda one: (one[1] - one[0], flow.operations[one[1]].site)):
        operations = [flow.operations[at] for _, at in run]
        made: set[int] = set()
        given: dict[int, tuple[int, ...]] = {}
        for one in operations:
            given |= {read.tensor: flow.shape(read.tensor) for read in one.reads if read.tensor not in made}
            made |= {tensor for tensor in one.makes if tensor not in given}
        if site is not None and given:
            yield site, Counter(given.values())
