"""GS770, GS771: activation checkpoints."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.evidence.case import Case
from gradscope.model.finding import Related
from gradscope.model.graph import Backward
from gradscope.model.operation import Operation
from gradscope.model.site import Site, Stack, user_site

MODULE = "/torch/utils/checkpoint.py"
BOUNDARIES = ("checkpoint", "_checkpoint_impl", "recompute_fn")  # the innermost around what is checkpointed; torch 2.15
DIFFERS = ("A different number of tensors was saved", "have different metadata than during the forward pass")
REENTRANT = "reentrant-checkpoint-without-grad"
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
    inside the backward. The first that differs is named.
    """
    for call in case.failed():
        if not any(text in (call.exception or "") for text in DIFFERS):
            continue
        forward, again = _runs(case, call)
        if not again:
            continue
        same = [one for one in forward if _occurrence(one[0]) == _occurrence(again[-1][0])]
        place = len([one for one in again if _occurrence(one[0]) == _occurrence(again[-1][0])])
        order = [*reversed(same[: len(same) - place + 1]), *reversed(same)]  # run again from the last to the first
        other = [one for one in order if list(map(_occurrence, one)) != list(map(_occurrence, again[-1]))]
        first = (other or order or [[]])[0]
        operation, told = _difference(first, again[-1])
        start = _outer(first[0].stack) if first else None
        site = operation.site if operation is not None else start
        if site is None:
            continue
        yield Cause(
            f"{told}: the recomputation in backward {call.number} differs from the forward",
            site,
            tuple(Related(role, at) for role, at in (("checkpoint_at", start), ("fails_at", call.site)) if at),
            fails=any(failure.backward == call.number for failure in case.failures()),
            certain=operation is not None,
            op=None if operation is None else operation.name,
            module=None if operation is None or operation.module is None else operation.module.label,
            backward=call.number,
        )


def reentrant_without_grad(case: Case) -> Iterator[Cause]:
    """What it flags: a reentrant checkpoint none of whose inputs requires grad, so that nothing in it is trained.

    Why: with use_reentrant=True a checkpoint is a Function of its inputs: where none of them requires grad, neither
    does its result, whatever the parameters inside. Their gradients stay None; torch says so in a warning only.

    Wrong:
        hidden = checkpoint(first_block, data, use_reentrant=True)

    Right:
        hidden = checkpoint(first_block, data, use_reentrant=False)

    Do instead: use_reentrant=False, which has no such rule; or data.requires_grad_() where the old kind must stay.

    How it is found: the arguments of the checkpoint as it is called under grad mode.
    """
    ends = [failure for failure in case.failures() if NO_GRAD in failure.message]
    for notice in case.notices():
        if notice.what == REENTRANT and notice.site is not None:
            yield Cause(
                "no input of this reentrant checkpoint requires grad, so the parameters inside get no gradient",
                _caller(notice.stack) or notice.site,
                tuple(Related("fails_at", failure.site) for failure in ends),
                fails=bool(ends),
            )


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
    runs = (list(run) for inside, run in groupby(kept, lambda one: _boundary(one.stack) is not None) if inside)
    return [stretch for run in runs for stretch in _cut(run)]


def _cut(run: list[Operation]) -> Iterator[list[Operation]]:
    """Parts of a run that begin alike, as the checkpoints of equal layers do."""
    steps = list(map(_occurrence, run))
    begins = [at for at in range(len(run)) if steps[at : at + _ALIKE] == steps[:_ALIKE]]
    for begin, end in zip(begins, [*begins[1:], len(run)], strict=True):
        yield run[begin:end]


def _boundary(stack: Stack) -> int | None:
    """Where the checkpoint's own frame stands in a stack."""
    for at, site in enumerate(stack):
        if site.file.endswith(MODULE) and site.function in BOUNDARIES:
            return at
    return None


def _is_the_checkpoints_own(operation: Operation) -> bool:
    """Whether the checkpoint called it for itself: it makes a dummy up to torch 2.11, and detaches what it keeps."""
    return any(site.file.endswith(MODULE) for site in operation.stack[: _boundary(operation.stack)])


def _occurrence(operation: Operation) -> Occurrence:
    within = operation.stack[: _boundary(operation.stack)]
    return operation.name, tuple((site.file, site.line) for site in within)


def _outer(stack: Stack) -> Site | None:
    return user_site(stack[_boundary(stack) or 0 :])


def _caller(stack: Stack) -> Site | None:
    """The user's line that called the checkpoint."""
    at = max((at for at, site in enumerate(stack) if site.file.endswith(MODULE)), default=0)
    return user_site(stack[at:])


def _difference(first: list[Operation], again: list[Operation]) -> tuple[Operation | None, str]:
    """The first operator that only one of two runs has."""
    before, after = list(map(_occurrence, first)), list(map(_occurrence, again))
    at = next((at for at, (one, other) in enumerate(zip(before, after, strict=False)) if one != other), None)
    if at is None:
        at = min(len(first), len(again))
    if at < len(again) and (at >= len(first) or before[at] in after[at:]):
        return again[at], f"this line runs in the recomputation only (its {_name(again[at])})"
    if at < len(first):
        return first[at], f"this line ran in the forward only (its {_name(first[at])})"
    return None, "the same operators gave tensors of another shape or dtype"


def _name(operation: Operation) -> str:
    return operation.name.removeprefix("aten.").partition(".")[0]
