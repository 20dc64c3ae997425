"""GS770, GS771, GS779: activation checkpoints."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import groupby

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.lines.deciding_lines import branching_line, random_line
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.syntax import syntax
from gradscope.model.finding import Related
from gradscope.model.graph import Backward
from gradscope.model.operation import Operation
from gradscope.model.site import Origin, Site, Stack, user_site

MODULE = "/torch/utils/checkpoint.py"
BOUNDARIES = ("checkpoint", "_checkpoint_impl", "recompute_fn")  # the innermost around what is checkpointed; torch 2.15
METADATA = "have different metadata than during the forward pass"
NOTHING = "saved during recomputation: 0"
DIFFERS = ("A different number of tensors was saved", METADATA)
REENTRANT = "reentrant-checkpoint-without-grad"
INCOMPATIBLE = "torch.utils.checkpoint is incompatible with .grad()"
NOTHING_REQUIRES = "none of output has requires_grad=True"
REENTRANT_NODE = "CheckpointFunctionBackward"
NO_GRAD = "does not require grad"
_ALIKE = 3  # operators by which a beginning is known
Occurrence = tuple[str, tuple[tuple[str, int], ...]]  # an operator and the lines that led to it within the checkpoint


def recomputation_differs(case: Case) -> Iterator[Cause]:
    """What it flags: a checkpointed function does other things when it is run again in the backward.

    Why: a checkpoint keeps the inputs only and runs the function again to get what the backward needs. What the
    function reads from outside must be the same then: Python's random numbers, counters, caches filled by the first
    run, train() and eval(), the data of a tensor that was changed since.

    Wrong:
        def forward(self, x):
            return x if random.random() < 0.1 else self.layer(x)
        x = checkpoint(block, x, use_reentrant=False)

    Right:
        def forward(self, x, skip):
            return x if skip else self.layer(x)
        x = checkpoint(block, x, random.random() < 0.1, use_reentrant=False)

    Do instead: decide outside and pass the decision in as an argument; fill caches before the first call; do not switch
    modes between a forward and its backward.

    How it is found: torch's CheckpointError, and the operators of the forward compared with those of the recomputation
    inside the backward. The line is the branch that led to the first that differs, or the one that draws the random
    number which it rests on.
    """
    for call in case.failed():
        if not any(text in (call.exception or "") for text in DIFFERS):
            continue
        forward, again = _runs(case, call)
        first, found = _compare(forward, again, call.exception or "")
        if not first and not again:
            continue
        start = _outer(first[0].stack) if first else None
        cause = _undecided(case, first) if found is None else _decided(case, found)
        site = cause.site or start
        if site is not None:
            related = (*cause.related, Related("checkpoint_at", start), Related("fails_at", call.site))
            yield replace(
                cause,
                message=f"{cause.message}: the recomputation in backward {call.number} differs from the forward",
                site=site,
                related=tuple(one for one in related if one.site is not None and one.site != site),
                fails=any(failure.backward == call.number for failure in case.failures()),
                backward=call.number,
            )


def _compare(
    forward: list[list[Operation]], again: list[list[Operation]], message: str
) -> tuple[list[Operation], Difference | None]:
    """The checkpoint whose recomputation failed, as it ran in the forward, and how they differ; empty where unknown.

    Checkpoints run again from the last to the first, and one that runs no operator leaves no stretch.
    """
    if NOTHING in message and len(forward) > len(again):
        first = forward[-1 - len(again)]
        return first, Difference(first[0], (), "ran in the forward only")
    if not again:
        return [], None
    same = [one for one in forward if _occurrence(one[0]) == _occurrence(again[-1][0])]
    place = len([one for one in again if _occurrence(one[0]) == _occurrence(again[-1][0])])
    order = [*reversed(same[: len(same) - place + 1]), *reversed(same)]
    stopped = METADATA in message
    other = [one for one in order if _difference(one, again[-1], stopped) is not None]
    first = ((order if stopped else other or order) or [[]])[0]
    return first, _difference(first, again[-1], stopped)


def _decided(case: Case, found: Difference) -> Cause:
    """The line that decided what only one of two runs did; without a branch around it, what was done."""
    site = branching_line(case, within(found.operation), found.other)
    module = found.operation.module
    ran = f"{found.told} (its {_name(found.operation)})"
    return Cause(
        f"this line {ran}" if site is None else f"what is decided here differs: line {_line(found.operation)} {ran}",
        site or found.operation.site,
        () if site is None else (Related("differs_at", found.operation.site, _name(found.operation)),),
        op=found.operation.name,
        module=None if module is None else module.label,
    )


def _undecided(case: Case, first: list[Operation]) -> Cause:
    """The same operators, of other shapes: what draws a number that is another one each time."""
    told = "the same operators gave tensors of another shape or dtype"
    lines = list(dict.fromkeys(site for one in first for site in within(one) if site.origin is Origin.USER))
    for line in lines:
        drawn = random_line(case, line)
        if drawn is not None:
            return Cause(f"{told}, with a random number that is drawn here", drawn, certain=False)
    return Cause(told, certain=False)


def reentrant_without_grad(case: Case) -> Iterator[Cause]:
    """What it flags: a reentrant checkpoint none of whose inputs requires grad, so that nothing in it is trained; or
    none of whose results does when it runs again in the backward, which raises.

    Why: with use_reentrant=True a checkpoint is a Function of its inputs: where none of them requires grad, neither
    does its result, whatever the parameters inside. Their gradients stay None; torch says so in a warning only. Where
    one does, so does the result, even if it is cut off inside: that is met in the backward only.

    Wrong:
        hidden = checkpoint(first_block, data, use_reentrant=True)

    Right:
        hidden = checkpoint(first_block, data, use_reentrant=False)

    Do instead: use_reentrant=False, which has no such rule; or data.requires_grad_() where the old kind must stay.
    Around what shall not be trained: no checkpoint, and no detach() inside of one.

    How it is found: the arguments of the checkpoint as it is called under grad mode; and torch's refusal, with what ran
    again before it: the last line that detaches, or that which switches gradients off, or else the last.
    """
    yield from _cut_inside(case)
    ends = [failure for failure in case.failures() if NO_GRAD in failure.message]
    for notice in case.notices():
        if notice.what == REENTRANT and notice.site is not None:
            yield Cause(
                "no input of this reentrant checkpoint requires grad, so the parameters inside get no gradient",
                caller(notice.stack) or notice.site,
                tuple(Related("fails_at", failure.site) for failure in ends),
                fails=bool(ends),
            )


def _cut_inside(case: Case) -> Iterator[Cause]:
    """The lines at which reentrant checkpoints whose backward is refused lose what requires grad."""
    for failure in case.failures():
        if NOTHING_REQUIRES not in failure.message or failure.backward is None:
            continue
        again = [
            one
            for block in case.blocks()
            if block.backward == failure.backward and block.thread == failure.thread
            for one in block.operations
            if _runs_again(one.stack)
        ]
        cuts = [site for one in again if (site := _cut_at(case, one)) is not None]
        site = cuts[-1] if cuts else user_site(again[-1].stack) if again else None
        if site is not None:
            yield Cause(
                "nothing that this reentrant checkpoint returns requires grad when it runs again: it is cut off here",
                site,
                () if failure.site is None else (Related("fails_at", failure.site),),
                certain=False,
                fails=True,
                backward=failure.backward,
            )


def _cut_at(case: Case, operation: Operation) -> Site | None:
    """The line of an operator that detaches, or that of the block without gradients around one: whether gradients are
    on in a backward is not recorded, so it is read in the source."""
    inside = operation.stack[: _own_frame(operation.stack)]
    mode = syntax(case).switch(inside)
    if mode is not None and mode.block:
        return mode.site
    return user_site(inside) if operation.name.startswith("aten.detach.") else None


def _runs_again(stack: Stack) -> bool:
    """Whether what a reentrant checkpoint is of ran it, in its backward: not the checkpoint for itself."""
    at = _own_frame(stack)
    return at is not None and stack[at].function == "backward" and user_site(stack[:at]) is not None


def _own_frame(stack: Stack) -> int | None:
    """Where the innermost frame of a checkpoint's own file stands."""
    return next((at for at, one in enumerate(stack) if one.file.endswith(MODULE)), None)


def reentrant_under_grad(case: Case) -> Iterator[Cause]:
    """What it flags: autograd.grad, or backward(inputs=...), through a reentrant checkpoint.

    Why: with use_reentrant=True the backward of a checkpoint runs a backward of its own, which fills .grad: it cannot
    know which inputs somebody asked for. So torch refuses; forces, gradient penalties and meta-learning meet this.

    Wrong:
        hidden = checkpoint(block, hidden, use_reentrant=True)
        forces = -torch.autograd.grad(energy(hidden), positions, create_graph=True)[0]

    Right:
        hidden = checkpoint(block, hidden, use_reentrant=False)

    Do instead: use_reentrant=False.

    How it is found: torch's refusal, and the checkpoints in the graph that it refused.
    """
    for failure in case.failures():
        if INCOMPATIBLE not in failure.message or failure.backward is None:
            continue
        nodes = (node for node in case.graph(failure.backward).nodes if node.name == REENTRANT_NODE)
        called = {caller(node.stack) for node in nodes} - {None}
        failing = (Related("fails_at", failure.site, "autograd.grad, or backward with inputs"),)
        message = "autograd.grad cannot go through this reentrant checkpoint, whose backward runs one of its own"
        yield Cause(message, min(called, key=str, default=failure.site), failing, fails=True, backward=failure.backward)


def _runs(case: Case, call: Backward) -> tuple[list[list[Operation]], list[list[Operation]]]:
    """The checkpointed stretches of the forward before a backward, and those that it ran again, each in order."""
    forward: list[Operation] = []
    again: list[Operation] = []
    for block in case.blocks():
        if block.thread != call.thread:
            continue
        if block.backward is None and not again:
            forward.extend(block.operations)
        elif block.backward == call.number:
            again.extend(block.operations)
        elif block.backward is not None and not again:
            forward.clear()
    return _stretches(forward), _stretches(again)


def _stretches(operations: Iterable[Operation]) -> list[list[Operation]]:
    """The operators inside checkpoints, split where a checkpoint ends or the next one begins in the same way."""
    kept = (one for one in operations if not _is_the_checkpoints_own(one))
    runs = (list(run) for inside, run in groupby(kept, lambda one: boundary(one.stack) is not None) if inside)
    return [stretch for run in runs for stretch in _cut(run)]


def _cut(run: list[Operation]) -> Iterator[list[Operation]]:
    """Parts of a run that begin alike, as the checkpoints of equal layers do."""
    steps = list(map(_occurrence, run))
    begins = [at for at in range(len(run)) if steps[at : at + _ALIKE] == steps[:_ALIKE]]
    for begin, end in zip(begins, [*begins[1:], len(run)], strict=True):
        yield run[begin:end]


def boundary(stack: Stack) -> int | None:
    """Where the checkpoint's own frame stands in a stack."""
    for at, site in enumerate(stack):
        if site.file.endswith(MODULE) and site.function in BOUNDARIES:
            return at
    return None


def _is_the_checkpoints_own(operation: Operation) -> bool:
    """Whether the checkpoint called it for itself: it makes a dummy up to torch 2.11, and detaches what it keeps."""
    return any(site.file.endswith(MODULE) for site in within(operation))


def within(operation: Operation) -> Stack:
    """The frames inside the checkpoint."""
    return operation.stack[: boundary(operation.stack)]


def _occurrence(operation: Operation) -> Occurrence:
    return operation.name, tuple((site.file, site.line) for site in within(operation))


def _outer(stack: Stack) -> Site | None:
    return user_site(stack[boundary(stack) or 0 :])


def caller(stack: Stack) -> Site | None:
    """The user's line that called the checkpoint."""
    at = max((at for at, site in enumerate(stack) if site.file.endswith(MODULE)), default=0)
    return user_site(stack[at:])


@dataclass(frozen=True, slots=True)
class Difference:
    """The first operator that only one of two runs has, and where the other was then: nowhere, once it had ended."""

    operation: Operation
    other: Stack
    told: str


def _difference(first: list[Operation], again: list[Operation], stopped: bool) -> Difference | None:
    """How two runs differ; a recomputation that has `stopped` may lack the end, which nobody needed."""
    before, after = list(map(_occurrence, first)), list(map(_occurrence, again))
    at = next((at for at, (one, other) in enumerate(zip(before, after, strict=False)) if one != other), None)
    if at is None:
        at = min(len(first), len(again))
    if at < len(again) and (at >= len(first) or before[at] in after[at:]):
        other = within(first[at]) if at < len(first) else ()
        return Difference(again[at], other, "runs in the recomputation only")
    if at < len(first) and (at < len(again) or not stopped):
        other = within(again[at]) if at < len(again) else ()
        return Difference(first[at], other, "ran in the forward only")
    return None


def _line(operation: Operation) -> int:
    return 0 if operation.site is None else operation.site.line


def _name(operation: Operation) -> str:
    return operation.name.removeprefix("aten.").partition(".")[0]
