"""GS82x: clipping that changes nothing or the wrong thing, scalers that skip, steps that change nothing."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.lines.step_hooks import registered_behind
from gradscope.explain.deductions.numbers.skipped_steps import skipped_to_the_end
from gradscope.explain.deductions.steps.clipped_gradients import is_read_by_a_step
from gradscope.explain.deductions.steps.gradients_of_steps import states_at
from gradscope.explain.deductions.steps.small_updates import FEW, clipped_lines, frozen, low_dtype_at, unchanged
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.optimizers import made_at
from gradscope.explain.evidence.timeline import Moment, Timeline, timelines
from gradscope.explain.evidence.words import be, several
from gradscope.explain.findings.steps.exhausted import made_iterator
from gradscope.model.finding import Related
from gradscope.model.site import Site, Stack, user_site
from gradscope.model.training import CLIP, SCALE, SCALED_STEP, STEP, UNKNOWN, UNSCALE, ZERO_GRAD

_TIMES = 3


def clipped_after_step(case: Case) -> Iterator[Cause]:
    """What it flags: gradients that are clipped when the optimizer has used them already.

    Why: clip_grad_norm_() changes .grad. After step() and before the next backward nothing reads that, so that the
    steps go along gradients that were never clipped.

    Wrong:
        loss.backward()
        optimizer.step()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)

    Right:
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    Do instead: clip between backward() and step().

    How it is found: each time that the line ran, the last that happened before it was a step and the next after it a
    backward (or a zero_grad, or the end). A call with a bound above a million measures, and is left out, and so is one
    that comes before the first backward: a function that computes the loss is no place to clip either. Where the step
    calls it, as a hook, the line that registers it is named. What a recorded step reads afterwards is left out: of two
    optimizers one may have stepped before, and the other steps by what was clipped.
    """
    for timeline in timelines(case):
        lines: dict[Site, list[bool]] = defaultdict(list)
        stacks: dict[Site, Stack] = {}
        for at, call in timeline.of(CLIP):
            if call.site is not None and call.count:
                stacks[call.site] = call.stack
                before, after = timeline.before(at, STEP), timeline.after(at, STEP, ZERO_GRAD)
                if before is not None:  # before all else there is no gradient yet, as where the loss is computed
                    lines[call.site].append(before.has(STEP) and not (after is not None and after.has(STEP)))
        for site, useless in lines.items():
            late = len(useless) >= _TIMES and all(useless) and not timeline.has_closures
            if late and not is_read_by_a_step(case, stacks[site]):
                yield _clipped_late(case, timeline, stacks[site], len(useless))


def _clipped_late(case: Case, timeline: Timeline, clips: Stack, times: int) -> Cause:
    """A call that clips behind each step: named is what has the step call it there, if a hook does it."""
    step, registered = next((call.site for _, call in timeline.of(STEP)), None), registered_behind(case, clips)
    message, advice = "the gradients are clipped after the step that used them", ""
    if registered is not None:
        message, advice = f"{message}, by this hook", "register it in front of the step: register_step_pre_hook"
    inner = user_site(clips) if registered is not None else None
    places = (("declared_at", inner, "clips"), ("called_at", step, "step"))
    return Cause(
        f"{message}: in {times} of {times} calls this changes nothing",
        registered or user_site(clips),
        tuple(Related(*one) for one in places if one[1] is not None),
        advice=advice,
    )


def clipped_between(case: Case) -> Iterator[Cause]:
    """What it flags: gradients that are clipped while the backward calls of a step still add to them.

    Why: each call is clipped together with what came before it, and the next one is added to what is left: the first
    parts of a step are made small again and again, the last one once. The sum is not that of the parts.

    Wrong:
        for task in tasks:
            loss(task).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    Right:
        for task in tasks:
            loss(task).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    Do instead: clip once, between the last backward() and step().

    How it is found: in each step with several backward calls the line ran between two of them, and nothing was cleared
    before the second; and both give gradients to some parameter. A hint: some mean it.
    """
    for timeline in timelines(case):
        for optimizer in {call.optimizer for _, call in timeline.of(STEP) if call.optimizer is not None}:
            windows = timeline.windows(optimizer)
            shared = [one for one in windows if sum(each.backward is not None for each in one) > 1]
            lines = [_clipped_before_more(one) for one in shared] if _add_to_the_same(case, shared) else []
            if len(lines) >= _TIMES and len(set(lines)) == 1 and lines[0] is not None:
                message = (
                    f"gradients are clipped before all backward calls of a step have added to them, in {len(lines)} "
                )
                yield Cause(f"{message}steps: what came first is clipped again with each", lines[0], certain=False)


def _add_to_the_same(case: Case, windows: list[tuple[Moment, ...]]) -> bool:
    """Whether a backward call gives gradients to what was clipped behind the one before it, in each step that was
    looked at: the parts of a model may be clipped in turn, each behind its own."""
    found = [known for one in windows if (known := _adds_to_clipped(case, one)) is not None]
    return bool(found) and all(found)


def _adds_to_clipped(case: Case, window: tuple[Moment, ...]) -> bool | None:
    """The same in one step; None where the leaves of its calls are not known."""
    before, total, found = frozenset[int](), UNKNOWN, False
    stepped = set[int | None]()
    for one in window:
        if one.call is not None and one.has(CLIP, STEP):
            total = one.call.total if one.has(CLIP) else total
            stepped |= {one.call.optimizer} if one.has(STEP) else set()
        elif one.backward is not None:
            states = states_at(case).get(one.backward.number)
            if states is None:
                return None
            reached = frozenset(states)
            found = found or bool(before & reached and not _are_others(case, total, stepped, reached))
            before, total, stepped = reached, UNKNOWN, set()
    return found


def _are_others(case: Case, total: int, stepped: set[int | None], reached: frozenset[int]) -> bool:
    """Whether what was clipped is that of an optimizer of whose parameters a call reaches none: it has as many, or is
    stepped then."""
    held = {one.optimizer: {each.tensor for each in one.parameters} for one in case.optimizer_looks()}
    return any((len(ones) == total or one in stepped) and not ones & reached for one, ones in held.items())


def _clipped_before_more(window: tuple[Moment, ...]) -> Site | None:
    """Where gradients are clipped to which a backward then adds."""
    clipped: Site | None = None
    learned = False
    for one in window:
        if one.has(CLIP) and one.call is not None and one.call.count and learned:
            clipped = one.site
        elif one.has(ZERO_GRAD):
            clipped, learned = None, False
        elif one.backward is not None:
            if clipped is not None:
                return clipped
            learned = True
    return None


def clips_nothing(case: Case) -> Iterator[Cause]:
    """What it flags: clipping that is given no parameter that has a gradient.

    Why: a generator, or a filter(), is empty once the optimizer has gone through it; another model's parameters have no
    gradients here. The call then computes no norm and changes nothing.

    Wrong:
        trained = filter(lambda p: p.requires_grad, model.parameters())
        optimizer = torch.optim.AdamW(trained)
        ...
        torch.nn.utils.clip_grad_norm_(trained, 1.0)

    Right:
        trained = [p for p in model.parameters() if p.requires_grad]

    Do instead: keep parameters in a list, and clip those that the optimizer holds.

    How it is found: each time that the line ran, no norm was computed (or no gradient clamped) inside of it. Where
    what it is given was made by filter(), parameters() or a generator, on one line alone, that is the line to edit.
    """
    lines = Counter(call.site for timeline in timelines(case) for _, call in timeline.of(CLIP))
    clipped = clipped_lines(case, set(lines)) if lines else set()
    for site, times in lines.items():
        if site is not None and site not in clipped and times >= _TIMES:
            made = made_iterator(case, site)
            if made is None:
                yield Cause(f"this clips nothing in {times} of {times} calls: what it is given has no gradients", site)
            else:
                place, name = made
                message = f"`{name}` is an iterator, and used up when it is clipped: nothing is, in {times} calls"
                yield Cause(message, place, (Related("called_at", site, "clips"),))


def clipped_while_scaled(case: Case) -> Iterator[Cause]:
    """What it flags: gradients are clipped while they are multiplied by a scaler's factor.

    Why: GradScaler multiplies the loss by up to 65,536, and step() divides the gradients by it. Clipped before that,
    all of them are cut down to the bound over the factor: nearly nothing is left of a step.

    Wrong:
        scaler.scale(loss).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)

    Right:
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)

    Do instead: scaler.unscale_(optimizer) before clipping.

    How it is found: each time that the line ran, scale() had been called for the backward before it, the scaler's
    step() came after it, and no unscale_() between the two.
    """
    for timeline in timelines(case):
        lines: dict[Site, list[bool]] = defaultdict(list)
        for at, call in timeline.of(CLIP):
            if call.site is not None and call.count:
                lines[call.site].append(_is_scaled(timeline, at))
        for site, scaled in lines.items():
            if len(scaled) >= _TIMES and all(scaled):
                yield Cause("the gradients are clipped while they are scaled: unscale_() is not called before", site)


def every_step_skipped(case: Case) -> Iterator[Cause]:
    """What it flags: a scaler's step() is called again and again, and the optimizer never steps.

    Why: GradScaler leaves a step out when a gradient is not finite, and halves its factor. A few skips at the beginning
    are its way to find the factor; when all steps are left out, the gradients are not finite whatever the factor is.

    Wrong:
        loss = (prediction - target).pow(2).sum() / (target - target)  # not finite
        scaler.scale(loss).backward()
        scaler.step(optimizer)

    Right:
        loss = (prediction - target).pow(2).mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)

    Do instead: look for what is not finite: the finding about it, if there is one, names the line.

    How it is found: calls of the scaler's step() that no step of the optimizer follows, at the end of the run more of
    them than a scaler needs to find its factor.
    """
    found = skipped_to_the_end(case)
    if found is not None:
        skipped, site = found
        yield Cause(f"the scaler has skipped the last {skipped} steps: some gradient is never finite", site)


def nothing_changes(case: Case) -> Iterator[Cause]:
    """What it flags: steps that change not one of the elements of parameters that have gradients, and steps of an
    optimizer whose parameters are all frozen.

    Why: a step adds lr times the gradient to each element. Where that is less than half of the distance to the next
    number of the dtype, the sum is the old number: in bfloat16 that is already so below 0.4 % of the element.

    Wrong:
        model = Net().bfloat16()
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)

    Right:
        model = Net()
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
        with torch.autocast("cpu", torch.bfloat16):
            loss = criterion(model(x), y)

    Do instead: keep the parameters in float32 and compute under autocast, or take a larger learning rate.

    How it is found: some elements from all over each parameter, before and after the steps that are looked at, but for
    those that a GradScaler has a fused optimizer skip; a parameter whose gradient was zero is left out, and a group
    whose learning rate is zero. In a low dtype, of torch's own optimizers, a fifth of the elements with a gradient may
    change, where a parameter rests. Frozen ones required no grad in any step that was looked at, while backward calls
    gave gradients to others.
    """
    for optimizer, names, steps, changed, elements, dtype in unchanged(case):
        made = made_at(case, optimizer)
        cast = low_dtype_at(case) if dtype is not None and changed > elements * FEW else None
        low = f" ({dtype})" if dtype is not None else ""
        yield Cause(
            f"{changed} of {elements:,} elements of {several(names)}{low} changed in the steps that were looked at, "
            f"up to step {steps}",
            cast or made,
            (Related("declared_at", made, "the optimizer"),) if cast is not None and made is not None else (),
            tensor=names[0],
            weight=len(names),
        )
    for optimizer, names, steps in frozen(case):
        message = (
            f"{several(names)} {be(names)} all that this optimizer holds, and frozen: {steps} steps change nothing"
        )
        yield Cause(message, made_at(case, optimizer), tensor=names[0], weight=len(names))


def _is_scaled(timeline: Timeline, at: int) -> bool:
    """Whether gradients at a place come from a scaled loss and are not divided again."""
    after = timeline.after(at, SCALED_STEP, STEP)
    if after is None or not after.has(SCALED_STEP):
        return False
    for place in range(at - 1, -1, -1):
        one = timeline.moments[place]
        if one.has(UNSCALE, STEP, SCALED_STEP):
            return False
        if one.call is not None and one.call.kind is SCALE:
            return bool(one.call.count)
    return False
