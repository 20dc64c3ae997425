"""GS870: a training that goes on from a checkpoint, and takes back only a part of what training needs."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.states.frozen_again import frozen_again
from gradscope.explain.deductions.steps.resumed_jobs import ResumedJob, resumed_jobs
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.optimizers import creation, made_at
from gradscope.explain.evidence.syntax import syntax
from gradscope.explain.evidence.timeline import Timeline, timelines
from gradscope.functions.source import called_name
from gradscope.model.finding import Related
from gradscope.model.site import Site, user_site
from gradscope.model.training import ASSIGN, LOAD, MADE, RESTORE, STEP, TrainingCall

_PROGRESS = frozenset(("epoch", "step", "global_step", "iteration", "it"))
_OPTIMIZER = ("optim", "opt")


@dataclass(frozen=True, slots=True)
class Kept:
    """A dict with a state in it, as a checkpoint is written: its keys, and the line of each."""

    lines: dict[str, Site]

    @property
    def progress(self) -> str | None:
        """The key that says how far the training was."""
        return next((key for key in self.lines if key in _PROGRESS), None)

    @property
    def optimizer(self) -> str | None:
        """The key of the optimizer's state."""
        return next((key for key in self.lines if key.startswith(_OPTIMIZER)), None)


def resumed_in_part(case: Case) -> Iterator[Cause]:
    """What it flags: a training that goes on from a checkpoint without the epoch that is kept in it, or with the epoch
    and without the state of an optimizer that has one; or with a part frozen that had been trained.

    Why: what an optimizer keeps (averages, momentum, a rate that has decayed) begins anew, and so does a schedule that
    counts epochs from 0: the loss jumps, and the rate is that of the beginning.

    Wrong:
        torch.save({"epoch": epoch, "model": model.state_dict()}, path)

    Right:
        torch.save({"epoch": epoch, "model": model.state_dict(), "optimizer": optimizer.state_dict()}, path)
        ...
        optimizer.load_state_dict(state["optimizer"])
        first = state["epoch"] + 1

    Do instead: keep model, optimizer, schedule and epoch together, and take all of them back.

    How it is found: a state is loaded between the making of an optimizer and its first step, and the program writes one
    dict with a state and a key for the epoch. The epoch is never read, though the optimizer's state is taken back; or
    it is read, and no state of an optimizer with averages is kept or taken back. Or one run trains in jobs: a new
    optimizer, made on the same line with the same rate, gets the weights that the job before saved at its end, and its
    loop counts on from what is kept with them; the first job loads nothing. Or the state of an optimizer that is
    loaded has something for each of its parameters, of which some are frozen from then on, in a program that thaws.
    """
    yield from frozen_again(case)
    yield from list(_by_its_keys(case)) or islice(_by_its_jobs(case), 1)


def _by_its_keys(case: Case) -> Iterator[Cause]:
    """What one dict tells, in which the program writes down what it keeps."""
    kept = [one for file in syntax(case).files for one in _kept(case, file)]
    read = {key for file in syntax(case).files for key in _read(case, file)}
    key = kept[0].progress if len(kept) == 1 else None
    if key is None:
        return
    for timeline in timelines(case):
        for load, optimizer in islice(_resumed(timeline), 1):
            restored = [call for _, call in timeline.of(RESTORE) if call.optimizer == optimizer]
            has_one, taken_back = kept[0].optimizer is not None, key in read
            if restored and has_one and not taken_back:
                yield _without_progress(kept[0], key, restored[-1])
            elif taken_back and not (restored or has_one) and _has_averages(case, optimizer):
                yield _without_optimizer(case, kept[0], load, optimizer)


def _by_its_jobs(case: Case) -> Iterator[Cause]:
    """What the jobs of one run tell, whatever their checkpoints look like."""
    hands_on = any(_hands_state_on(node) for file in syntax(case).files for node in syntax(case).nodes(file))
    for job in () if hands_on else resumed_jobs(case):
        if _has_averages(case, job.optimizer):
            yield _weights_alone(case, job)


def _hands_state_on(node: ast.AST) -> bool:
    """`optimizer.state`: what it has averaged may be handed on by hand."""
    return isinstance(node, ast.Attribute) and node.attr == "state" and "opt" in ast.unparse(node.value).lower()


def _weights_alone(case: Case, job: ResumedJob) -> Cause:
    made = made_at(case, job.optimizer)
    return Cause(
        "the training goes on with the weights and the count of what was saved, and with a new optimizer: what the one "
        "before had averaged begins anew",
        job.site,
        (Related("declared_at", made, "the optimizer"),) if made is not None else (),
        certain=False,
    )


def _resumed(timeline: Timeline) -> Iterator[tuple[TrainingCall, int | None]]:
    """What is loaded between an optimizer's making and its first step: then the training begins with it."""
    steps = list(timeline.of(STEP))
    made = {call.optimizer: at for at, call in reversed(list(timeline.of(MADE)))}
    for at, load in timeline.of(LOAD, ASSIGN):
        after = next((call.optimizer for later, call in steps if later > at), None)
        before = {call.optimizer for earlier, call in steps if earlier < at}
        if after in made and made[after] < at and after not in before:
            yield load, after


def _without_progress(kept: Kept, key: str, restored: TrainingCall) -> Cause:
    return Cause(
        f"the checkpoint keeps {key!r}, which nothing takes back: the training goes on with the optimizer's state, and "
        "counts from the beginning",
        restored.site,
        (Related("saved_at", kept.lines[key], repr(key)),),
        certain=False,
    )


def _without_optimizer(case: Case, kept: Kept, load: TrainingCall, optimizer: int | None) -> Cause:
    made = made_at(case, optimizer)
    return Cause(
        "the training goes on from a checkpoint that keeps no state of the optimizer: what it had averaged begins anew",
        next(iter(kept.lines.values())),
        (Related("called_at", load.site, "load_state_dict"),)
        + ((Related("declared_at", made, "the optimizer"),) if made is not None else ()),
        certain=False,
    )


def _has_averages(case: Case, optimizer: int | None) -> bool:
    """Whether it is made with momentum, or is no SGD."""
    site = user_site(creation(case, optimizer))
    statement = None if site is None else syntax(case).statement(site)
    calls = [one for one in ast.walk(statement) if isinstance(one, ast.Call)] if statement is not None else []
    plain = [one for one in calls if called_name(one) == "SGD" and not any(k.arg == "momentum" for k in one.keywords)]
    return bool(calls) and not plain


def _kept(case: Case, file: str) -> Iterator[Kept]:
    """The dicts that hold a state: the line of the first state comes first."""
    for node in syntax(case).nodes(file):
        pairs = list(zip(node.keys, node.values, strict=True)) if isinstance(node, ast.Dict) else []
        named = [(key.value, value) for key, value in pairs if isinstance(key, ast.Constant)]
        states = [key for key, value in named if isinstance(value, ast.Call) and called_name(value) == "state_dict"]
        if states and len(named) > 1:
            ordered = sorted(named, key=lambda one: one[0] not in states)
            yield Kept({str(key): syntax(case).site(file, value.lineno) for key, value in ordered})


def _read(case: Case, file: str) -> Iterator[str]:
    """The keys that a file reads of anything."""
    for node in syntax(case).nodes(file):
        key = None
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
            key = node.slice
        elif isinstance(node, ast.Call) and called_name(node) in ("get", "pop") and node.args:
            key = node.args[0]
        if isinstance(key, ast.Constant) and isinstance(key.value, str):
            yield key.value
