"""Finds a training that is cut into jobs, of which each takes back the weights of the one before, and how far it was.

What tells it from a start with weights that were trained for something else: the first job of the same lines loads
nothing, the next one loads what the one before saved when it ended, and counts on from what was saved with it. Its loss
goes on, too.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from gradscope.explain.deductions.steps.gradients_of_steps import held_by
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import dataflow
from gradscope.explain.evidence.syntax import syntax
from gradscope.explain.evidence.timeline import Timeline, is_whole, timelines
from gradscope.functions.source import called_name, last_name, names_in
from gradscope.model.operation import base_name
from gradscope.model.site import Site, Stack, user_frames
from gradscope.model.training import LOAD, MADE, RESTORE, STATE, STEP, TrainingCall

_COMMON = {"self", "torch", "model", "path", "device"}  # names that a load and a count share by chance
_COUNTING = ("range", "trange")
_FEW = 2  # steps of a job


@dataclass(frozen=True, slots=True)
class ResumedJob:
    """A job that goes on: the load of its weights, its optimizer, and the line that takes the checkpoint back."""

    load: TrainingCall
    optimizer: int
    site: Site


@dataclass(frozen=True, slots=True)
class _Job:
    """The steps of one optimizer: their places in the timeline, and that of the optimizer's making."""

    optimizer: int
    made: int
    stack: Stack
    steps: tuple[int, ...]


def resumed_jobs(case: Case) -> Iterator[ResumedJob]:
    """The jobs that take back weights and progress of the job before; none where an optimizer's state is."""
    known = timelines(case) if is_whole(case) else ()
    if any(True for timeline in known for _ in timeline.of(RESTORE)):
        return
    for timeline in known:
        for jobs in _jobs(timeline).values():
            if any(jobs[0].made < at < jobs[0].steps[0] for at, _ in timeline.of(LOAD)):
                continue
            for before, job in pairwise(jobs):
                load = _loaded(case, timeline, before, job)
                if load is None or not _are_alike(case, before, job) or not _goes_on(case, timeline, before, job):
                    continue
                if _counts_on(case, timeline, job, load):
                    yield ResumedJob(load, job.optimizer, _taken_back_at(case, job, load))


def _jobs(timeline: Timeline) -> dict[tuple[Site | None, Site | None], list[_Job]]:
    """Those of the same lines: where their optimizers are made, and where they step."""
    steps: dict[int | None, list[int]] = defaultdict(list)
    for at, call in timeline.of(STEP):
        steps[call.optimizer].append(at)
    found: dict[tuple[Site | None, Site | None], list[_Job]] = defaultdict(list)
    for at, call in timeline.of(MADE):
        places = steps[call.optimizer]
        if call.optimizer is not None and len(places) >= _FEW:
            found[call.site, timeline.moments[places[0]].site].append(_Job(call.optimizer, at, call.stack, (*places,)))
    return found


def _loaded(case: Case, timeline: Timeline, before: _Job, job: _Job) -> TrainingCall | None:
    """The last load of what was saved when the job before ended, where all that a new optimizer holds is loaded."""
    saved = [at for at, _ in timeline.of(STATE)]
    loads = [call for at, call in timeline.of(LOAD) if job.made < at < job.steps[0]]
    if before.steps[-1] > job.made or not any(before.steps[-1] < at < job.made for at in saved):
        return None
    if not loads or any(job.made < at < job.steps[0] for at in saved):
        return None
    return loads[-1] if _are_of_all(case, loads, job.optimizer) else None


def _are_of_all(case: Case, loads: list[TrainingCall], optimizer: int) -> bool:
    """Whether loads are of as many tensors as an optimizer holds; of these, where it was seen into which they copy."""
    flow, held = dataflow(case), held_by(case, optimizer)
    stacks = {user_frames(load.stack) for load in loads}
    copies = (flow.operations[at] for at in flow.under(lambda stack: user_frames(stack) in stacks))
    written = {one for copy in copies if base_name(copy.operation.name) == "copy_" for one in copy.makes}
    seen = not written or written >= held.keys()
    return seen and 0 < len(held) <= sum(load.total for load in loads)


def _are_alike(case: Case, before: _Job, job: _Job) -> bool:
    """Whether two jobs train parameters of the same shapes, and begin with the same rates."""
    flow = dataflow(case)
    first, second = ([flow.shape(tensor) for tensor in held_by(case, one.optimizer)] for one in (before, job))
    rates: dict[int, set[tuple[int, float]]] = defaultdict(set)
    for one in case.learning_rates():
        if one.count == 0:
            rates[one.optimizer].add((one.group, one.value))
    return first == second and rates[before.optimizer] == rates[job.optimizer]


def _goes_on(case: Case, timeline: Timeline, before: _Job, job: _Job) -> bool:
    """Whether the loss begins nearer to where the job before ended than to where that began: it learns from there."""
    losses = case.losses()
    places = [timeline.before(at) for at in (before.steps[0], before.steps[-1], job.steps[0])]
    numbers = [one.backward.number for one in places if one is not None and one.backward is not None]
    known = [losses[one] for one in numbers if one in losses]
    if len(known) < len(places):
        return False
    began, ended, goes_on = known
    return abs(goes_on - ended) < abs(goes_on - began)


def _counts_on(case: Case, timeline: Timeline, job: _Job, load: TrainingCall) -> bool:
    """Whether a loop around the steps begins with a count that comes out of what is loaded."""
    counts = {name for site in user_frames(timeline.moments[job.steps[0]].stack) for name in _begins(case, site, job)}
    return any(
        not counts.isdisjoint(_given(case, site))
        for site in user_frames(load.stack)
        if site not in user_frames(job.stack)
    )


def _begins(case: Case, site: Site, job: _Job) -> Iterator[str]:
    """The names with which the loops around a line begin to count, but for those around the whole job."""
    function = syntax(case).function(site)
    made = [one.line for one in user_frames(job.stack) if one.file == site.file]
    for loop in ast.walk(function) if function is not None else ():
        if not isinstance(loop, (ast.For, ast.While)) or not _holds(loop, site.line):
            continue
        if not any(_holds(loop, line) for line in made):
            yield from _names(*_first_counts(loop)) | {f"{one}[]" for one in _containers(*_first_counts(loop))}


def _first_counts(loop: ast.For | ast.While) -> list[ast.expr]:
    """What a loop begins to count with: range's first of several, or what a while compares and makes larger."""
    if isinstance(loop, ast.While):
        grown = {last_name(one.target) for one in ast.walk(loop) if isinstance(one, ast.AugAssign)}
        return [one for one in ast.walk(loop.test) if isinstance(one, ast.expr) and last_name(one) in grown - {""}]
    calls = [one for one in ast.walk(loop.iter) if isinstance(one, ast.Call) and called_name(one) in _COUNTING]
    return [one.args[0] for one in calls if len(one.args) > 1]


def _given(case: Case, site: Site) -> set[str]:
    """The names that get their values, in the function of a statement, by it or out of what it reads, too."""
    statement, function = syntax(case).statement(site), syntax(case).function(site)
    if statement is None or function is None:
        return set()
    assigned = [one for one in ast.walk(function) if isinstance(one, ast.Assign)]
    given = _names(*(target for one in assigned if one is statement for target in one.targets))
    known, before = names_in(statement) - _COMMON, -1
    while before != len(known):
        before = len(known)
        for one in assigned:
            if _is_taken_apart(one, known) or not _containers(one.value).isdisjoint(known):
                given |= _names(*one.targets)
                known |= names_in(*one.targets) - _COMMON
    return given | {f"{one}[]" for one in known}


def _is_taken_apart(assigned: ast.Assign, known: set[str]) -> bool:
    """Whether one of several names that one value is taken apart for is known."""
    is_one = isinstance(assigned.targets[0], ast.Tuple) and not isinstance(assigned.value, ast.Tuple)
    return is_one and not names_in(assigned.targets[0]).isdisjoint(known)


def _names(*nodes: ast.expr) -> set[str]:
    """The plain names and attributes in some expressions."""
    found = {last_name(one) for node in nodes for one in ast.walk(node)}
    return found - _COMMON - {""}


def _containers(*nodes: ast.expr) -> set[str]:
    """The names of which a part is taken in some expressions, by a key or as an attribute."""
    parts = (one.value for node in nodes for one in ast.walk(node) if isinstance(one, (ast.Subscript, ast.Attribute)))
    return {last_name(one) for one in parts} - _COMMON - {""}


def _taken_back_at(case: Case, job: _Job, load: TrainingCall) -> Site:
    """The line of the load; where that goes over any parts that it is given, the outermost call of the job's own."""
    frames, around = user_frames(load.stack), user_frames(job.stack)
    own = [one for one in frames if one not in around] or list(frames)
    loop, statement = syntax(case).loop(own[0]), syntax(case).statement(own[0])
    is_any = isinstance(loop, ast.For) and not names_in(loop.target).isdisjoint(names_in(statement))
    return own[-1] if is_any else own[0]


def _holds(loop: ast.For | ast.While, line: int) -> bool:
    return loop.lineno <= line <= (loop.end_lineno or 0)
