"""GS80x: gradients that are not cleared, cleared too often, come from where nothing should learn, or are never used."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.lines.source_calls import counted_condition, guard_of
from gradscope.explain.deductions.lines.wrapping_lines import wrapping_line
from gradscope.explain.deductions.memory.one_shots import cleared_in_vain
from gradscope.explain.deductions.steps.gradients_of_steps import (
    Accumulated,
    accumulated,
    is_read_before,
    learns_while_evaluating,
)
from gradscope.explain.deductions.steps.optimizer_parameters import is_updated_by_hand, optimizer_parameters
from gradscope.explain.deductions.steps.sent_sums import sent_sums
from gradscope.explain.deductions.steps.summed_by_hand import summed_by_hand
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import dataflow
from gradscope.explain.evidence.optimizers import idle_optimizers, made_at
from gradscope.explain.evidence.timeline import Moment, Timeline, is_whole, timelines
from gradscope.explain.evidence.words import several
from gradscope.model.finding import Related, Severity
from gradscope.model.site import Site, user_site
from gradscope.model.training import MADE, SCALED_STEP, STEP, ZERO_GRAD

_TIMES = 3  # of the same, before anything is said
_NEVER = 6  # backward calls without a step


def not_cleared(case: Case) -> Iterator[Cause]:
    """What it flags: gradients that an optimizer uses and that are still there when the next backward adds to them.

    Why: backward() adds to .grad. Unless it is cleared, each step goes along the sum of all gradients since the
    program began, of old data and old weights: training seems to work for a while, then overshoots.

    Wrong:
        for x, y in loader:
            criterion(model(x), y).backward()
            optimizer.step()

    Right:
        for x, y in loader:
            optimizer.zero_grad()
            criterion(model(x), y).backward()
            optimizer.step()

    Do instead: call zero_grad() of the optimizer that steps, once for each step: before its first backward or after it.

    How it is found: what .grad held when a backward began, in the steps that are looked at: between two steps of an
    optimizer, no backward found it empty or zero (where a loop clears what a spent iterator gives, the line is the one
    that makes it); or none did but the first after a zero_grad() that is called once for several steps of the same
    backward, where the program does not read the gradients itself. An optimizer whose steps call a closure is left out.
    A hint only where a step follows every few rounds of a loop, whose last rounds fill no group: the first step of the
    next loop uses their gradients, too, which are older and too many. So is it told where the program moves a leaf by
    its gradient itself (an attack on the input, a step by hand), and a backward was seen to add to the gradient that it
    had moved by: again and again, or once where no backward that was looked at later found it cleared; and where it
    sends the gradient of a leaf that it receives into again and again, such as a stage of a pipeline.
    """
    yield from (*_moved_by_sums(case), *_sent_sums(case))
    for optimizer, found in accumulated(case).items():
        condition = None if found.carried is None else counted_condition(case, found.step)
        if found.carried is not None and condition is not None:
            usual, most = found.carried
            yield Cause(
                f"no step follows the last {most - usual} batches of a round: the first of the next sums the "
                f"gradients of {most} backward calls, and the others those of {usual}",
                condition,
                severity=Severity.INFO,
                certain=False,
                advice="step after the last batch of each round as well",
            )
        yield from _cleared_once(case, optimizer, found)
        if found.windows < _TIMES or not found.stale:
            continue
        names = [name for name in found.stale if name]
        cleared, seldom = found.cleared_elsewhere, found.seldom
        vain = cleared_in_vain(case) if cleared is seldom is None else None
        if vain is not None:
            yield _used_up(found, names, *vain)
            continue
        if seldom is not None:
            cleared = seldom
            message = f"the gradients of {several(names)} are cleared here only now and then: "
            message += "each step uses the sum of all since"
        else:
            message = f"the gradients of {several(names)} are never cleared: each step uses the sum of all since the "
            message += "run began" if cleared is None else "run began; this clears those of others"
        site = found.backward if cleared is None else cleared
        yield Cause(message, site, _related(found, site), tensor=names[0])


def _used_up(found: Accumulated, names: list[str], made: Site, loop: Site) -> Cause:
    return Cause(
        f"this can be gone through only once, and line {loop.line} gets nothing of it: the gradients of "
        f"{several(names)} are never cleared",
        made,
        (Related("called_at", loop, "clears nothing"), *_related(found, made)),
        tensor=names[0],
        advice="keep the parameters in a list",
    )


def _cleared_once(case: Case, optimizer: int, found: Accumulated) -> Iterator[Cause]:
    """The zero_grad() that stands before a loop of several steps."""
    if found.kept is not None and not is_read_before(case, optimizer):
        clearing, names, times = found.kept
        yield Cause(
            f"this clears the gradients of {several(names)} once for several steps: each step after the first uses "
            f"those of the steps before as well, seen {times} times",
            clearing,
            _related(found, clearing),
            tensor=names[0],
            advice="clear them before each backward, inside of the loop",
        )


def _moved_by_sums(case: Case) -> Iterator[Cause]:
    """The lines that move a leaf by hand, along a gradient that no one clears."""
    for one in summed_by_hand(case):
        if one.times >= _TIMES:
            related = () if one.backward is None else (Related("called_at", one.backward, "backward"),)
            yield Cause(
                f"this moves by a sum of gradients, seen {one.times} times: nothing clears .grad between them",
                one.update,
                related,
                advice="clear the gradient when it has been used: .grad = None, or .grad.zero_()",
            )


def _sent_sums(case: Case) -> Iterator[Cause]:
    """The lines that send the gradient of a leaf that is filled anew, and that no one clears."""
    for one in sent_sums(case):
        related = () if one.backward is None else (Related("called_at", one.backward, "backward"),)
        yield Cause(
            f"this sends the gradient of a leaf that holds other values each time, and nothing clears its .grad: "
            f"{one.times} backward calls added to that of the values before",
            one.sent,
            related,
            advice="clear the gradient when it has been sent: .grad = None",
        )


def cleared_between(case: Case) -> Iterator[Cause]:
    """What it flags: gradients that are cleared between the backward calls of one step, and that nothing has read.

    Why: gradients of several batches are accumulated by calling backward() for each and stepping once. Clearing in
    between throws all of them away but the last: the step is that of one small batch.

    Wrong:
        for i, (x, y) in enumerate(loader):
            optimizer.zero_grad()
            (criterion(model(x), y) / 4).backward()
            if i % 4 == 3:
                optimizer.step()

    Right:
        for i, (x, y) in enumerate(loader):
            (criterion(model(x), y) / 4).backward()
            if i % 4 == 3:
                optimizer.step()
                optimizer.zero_grad()

    Do instead: clear right after the step, where the step is.

    How it is found: between two steps the same line calls backward several times, zero_grad() finds gradients between
    these calls, and no operator has read what it clears. Or only in later
    steps, as where a batch grows, then in all up to the end. A hint only where most steps use all calls, and some have
    lost what was left at the end of an epoch. Where a decorator or a `with` clears around the backward, its line is
    named. A line whose backward also reaches a leaf that is no parameter, as an
    input under attack, is left out.
    """
    for optimizer, found in accumulated(case).items():
        if found.left_over is not None and not is_read_before(case, optimizer):
            (cleared, times), condition = found.left_over, counted_condition(case, found.step)
            lost = f"gradients of several backward calls that no step has used, {times} times"
            message = f"this clears {lost}" if condition is None else f"no step follows the last batches: {lost}"
            place = () if condition is None else (Related("cleared_at", cleared, "zero_grad"),)
            advice = (
                "" if condition is None else "step after the last batch as well, or let the next round use the rest"
            )
            yield Cause(message, condition or cleared, place, severity=Severity.INFO, advice=advice)
        if found.thrown_away is None or found.lost_windows < 2:
            continue
        clearing, backward = map(user_site, found.thrown_away)
        if clearing is None or is_read_before(case, optimizer) or _is_for_another_leaf(case, backward):
            continue
        around = wrapping_line(case, *found.thrown_away)
        called = () if around is None else (Related("cleared_at", clearing, "zero_grad()"),)
        yield Cause(
            f"this clears the gradients of {found.lost_calls} of {found.lost_calls + 1} backward calls before the "
            "optimizer steps: only the last one counts",
            around or clearing,
            (Related("cause_at", backward, "backward"), *called),
            weight=found.lost_calls,
        )


def _is_for_another_leaf(case: Case, backward: Site | None) -> bool:
    """Whether a line's backward reaches a leaf that is no parameter, as an input that is moved: it may be for that."""
    calls = {call.number for call in case.backwards() if call.site == backward}
    leaves = {leaf.tensor for leaf in case.leaf_gradients() if leaf.backward in calls}
    known = (dataflow(case).tensors.get(one) for one in leaves)
    return any(one is not None and not one.parameter for one in known)


def evaluation_learns(case: Case) -> Iterator[Cause]:
    """What it flags: a backward of what was computed in evaluation mode, whose gradients the next step uses.

    Why: backward() in a validation loop adds the gradients of the validation data to .grad. If nothing clears them
    before training goes on, the model is trained on what it is validated with.

    Wrong:
        model.eval()
        for x, y in validation:
            loss = criterion(model(x), y)
            loss.backward()

    Right:
        model.eval()
        with torch.no_grad():
            for x, y in validation:
                loss = criterion(model(x), y)

    Do instead: leave backward() out of validation, and run it under torch.no_grad().

    How it is found: the mode in which the model was called before each backward; other backward calls of the run
    were of training mode, and no zero_grad() comes before the next one of these.
    """
    for found in learns_while_evaluating(case):
        yield Cause(
            "gradients of what was computed in evaluation mode are added to those that the next step uses",
            found.backward,
            (Related("declared_at", found.switched, "eval()"),) if found.switched is not None else (),
            certain=False,
            weight=found.times,
        )


def never_steps(case: Case) -> Iterator[Cause]:
    """What it flags: an optimizer is made, gradients are computed again and again, and no optimizer ever steps.

    Why: where step() stands behind a condition that is never true (more batches to accumulate than there are, a counter
    that starts anew), the program runs without training anything.

    Wrong:
        for i, (x, y) in enumerate(loader):  # ten batches
            criterion(model(x), y).backward()
            if (i + 1) % 64 == 0:
                optimizer.step()

    Right:
        for i, (x, y) in enumerate(loader):
            criterion(model(x), y).backward()
            if (i + 1) % 64 == 0 or i + 1 == len(loader):
                optimizer.step()

    Do instead: let the last, shorter window step as well.

    How it is found: the run ended by itself, an optimizer was made and none stepped, the same line has called backward
    several times, and no parameter was written by hand. Or others step, and one whose zero_grad() comes before the same
    backward again and again does not, which reaches parameters that no optimizer which steps holds.
    """
    if case.run().status not in (0, None) or not is_whole(case):
        return
    for timeline in timelines(case):
        made = [call for _, call in timeline.of(MADE)]
        if not made or any(True for _ in timeline.of(STEP, SCALED_STEP)) or case.optimizer_looks():
            continue
        lines = [timeline.moments[at].site for at in timeline.backwards]
        most = max(set(lines), key=lines.count, default=None)
        if lines.count(most) >= _NEVER:
            guard = guard_of(case, "step")
            what = "the condition of its step() was never true" if guard is not None else "nothing calls its step()"
            yield Cause(
                f"the optimizer never steps in {len(lines)} backward calls: {what}",
                guard or made[-1].site,
                (Related("declared_at", made[-1].site, "the optimizer"),) if guard is not None else (),
            )
    for timeline in timelines(case):
        yield from _one_never_steps(case, timeline)


def _one_never_steps(case: Case, timeline: Timeline) -> Iterator[Cause]:
    """The optimizers that clear gradients before a backward and never use them, while others step."""
    idle, held = idle_optimizers(case), optimizer_parameters(case).held
    cleared: dict[int, list[Moment]] = defaultdict(list)
    for at, call in timeline.of(ZERO_GRAD):
        following = timeline.after(at) if call.optimizer in idle else None
        if following is not None and call.optimizer is not None:
            cleared[call.optimizer].append(following)
    tensors = dataflow(case).tensors
    others = (one for one in case.leaf_gradients() if cleared and one.tensor in tensors and one.tensor not in held)
    unheld = {leaf.backward for leaf in others if not is_updated_by_hand(case, tensors[leaf.tensor])}
    for optimizer, backwards in cleared.items():
        reaching = [one for one in backwards if one.backward is not None and one.backward.number in unheld]
        if len(backwards) >= _NEVER and reaching:
            yield Cause(
                f"gradients are computed here in {len(backwards)} calls, and nothing calls the step() of the optimizer "
                "that clears them",
                reaching[0].site,
                (Related("declared_at", made_at(case, optimizer), "the optimizer"),),
                advice="call its step() once the gradients are there.",
            )


def _related(found: Accumulated, site: object) -> tuple[Related, ...]:
    places = (("cause_at", found.backward, "backward"), ("called_at", found.step, "step"))
    return tuple(Related(role, one, what) for role, one, what in places if one is not None and one != site)
