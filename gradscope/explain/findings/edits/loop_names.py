"""GS706: a loop over tensors that gives its own variable a new value, and leaves what it goes over as it was."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import RecordedDataflow, dataflow
from gradscope.explain.evidence.syntax import syntax
from gradscope.functions.source import names_in
from gradscope.model.site import Site


def loop_name_rebound(case: Case) -> Iterator[Cause]:
    """What it flags: a loop that computes a new value for its own variable, which nothing reads.

    Why: the variable is a name for the tensor of this round. To assign to it gives the name to another tensor: the
    parameters that the loop goes over stay as they were, be it an average, a clamp or an update by hand.

    Wrong:
        for slow, fast in zip(teacher.parameters(), student.parameters()):
            slow = decay * slow + (1 - decay) * fast

    Right:
        for slow, fast in zip(teacher.parameters(), student.parameters()):
            slow.mul_(decay).add_(fast, alpha=1 - decay)

    Do instead: write into the tensor, under torch.no_grad(): mul_(), add_(), clamp_(), copy_().

    How it is found: operators ran on such a line, the value is computed from the variable itself, and neither does the
    rest of the loop's body read the name nor any operator the result. What they read is a parameter, or is read again
    behind the loop: of a batch that the loop throws away, nothing would be left to repair. A hint.
    """
    flow = dataflow(case)
    asked: set[Site | None] = {None}  # a loop has thousands of operators and few lines
    for at, operation in enumerate(flow.operations):
        site = operation.site
        if operation.backward is not None or site is None or site in asked:
            continue
        if any(flow.readers.get(made) for made in operation.makes) or not operation.makes:
            continue
        asked.add(site)
        name = _rebound(case, site)
        if name is not None and _goes_over_what_lives_on(case, flow, at, site):
            yield Cause(
                f"this gives the name `{name}` to a new tensor, which nothing reads: what the loop goes over stays as "
                "it was",
                site,
                certain=False,
                op=operation.operation.name,
            )


def _rebound(case: Case, site: Site) -> str | None:
    """The variable of the innermost loop that a line assigns what it computes from it, and that is not read below."""
    statement, loop = syntax(case).statement(site), syntax(case).loop(site)
    if not isinstance(statement, ast.Assign) or not isinstance(loop, ast.For) or len(statement.targets) > 1:
        return None
    target = statement.targets[0]
    if not isinstance(target, ast.Name) or target.id not in names_in(loop.target) & names_in(statement.value):
        return None
    around = syntax(case).function(site) or loop
    reads = (one for one in ast.walk(around) if isinstance(one, ast.Name) and one.id == target.id)
    below = (one for one in reads if isinstance(one.ctx, ast.Load) and one.lineno > (statement.end_lineno or 0))
    return None if any(below) else target.id


def _goes_over_what_lives_on(case: Case, flow: RecordedDataflow, at: int, site: Site) -> bool:
    """Whether a line, whose last operator this is, reads a parameter, or what other lines read again afterwards.

    The loop's own head does not count: it takes each row of a table in each epoch.
    """
    loop = syntax(case).loop(site)
    head = range(loop.lineno, loop.body[0].lineno) if loop is not None else range(0)
    storages = _read_at(flow, at, site)
    kept = {one.number: one for one in flow.tensors.values() if one.storage in storages}
    if any(one.parameter for one in kept.values()):
        return True
    later = (flow.operations[reader].site for number in kept for reader in flow.readers.get(number, ()) if reader > at)
    return any(
        other is not None and other != site and not (other.file == site.file and other.line in head) for other in later
    )


def _read_at(flow: RecordedDataflow, at: int, site: Site) -> set[int]:
    """The storages of what a line reads that it did not make itself, up to one of its operators."""
    found: set[int] = set()
    waiting, seen = [at], {at}
    while waiting:
        place = waiting.pop()
        for read in flow.operations[place].reads:
            maker = flow.maker(read.tensor, place)
            if maker is not None and flow.operations[maker].site == site:
                waiting += [maker] if maker not in seen else []
                seen.add(maker)
            elif read.tensor in flow.tensors:
                found.add(flow.tensors[read.tensor].storage)
    return found
