"""The front door of "why": asks every question of a recording, and picks, ranks and joins what they found.

The first finding is the cause: what explains the exception comes before what is merely wrong.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from gradscope.errors import noted
from gradscope.explain.deductions.cause import Cause
from gradscope.explain.evidence.case import Case, OutOfTime
from gradscope.explain.evidence.syntax import syntax
from gradscope.explain.evidence.which_step import with_steps
from gradscope.explain.findings.kind import Kind
from gradscope.explain.findings.table import QUESTIONS
from gradscope.model.capabilities import silenced
from gradscope.model.choice import Choice, silences
from gradscope.model.finding import Confidence, Finding, Severity
from gradscope.model.report import Report
from gradscope.model.site import Site
from gradscope.store.reader import Recording

EVERYTHING = Choice()
LONGEST, ALL = 10.0, 30.0  # seconds for one question, and for all
Found = tuple[Kind, Cause]


def explain(
    recording: Recording,
    choice: Choice = EVERYTHING,
    kinds: Iterable[Kind] = QUESTIONS,
    clock: Callable[[], float] = time.thread_time,
    mistakes: list[Exception] | None = None,
) -> Report:
    """What is wrong with the run, the most likely cause first. `clock` tells the seconds that were worked.

    A mistake of our own in one question takes no other answer along where there are `mistakes` to note it in.
    """
    case = Case(recording, clock)
    lacking = {lack.capability for lack in case.run().lacks}
    asked = [kind for kind in kinds if choice.wants(kind.code) and not silenced(kind.code, lacking)]
    found, left_out = _answers(case, asked, mistakes)
    heard = [(kind, cause) for kind, cause in found if not _silenced(case, kind, cause)]
    ranked = sorted(_without_echoes(heard), key=_rank)
    findings = tuple(with_steps(case, _finding(kind, cause)) for kind, cause in _joined(ranked))
    ended = next((one for one in case.failures() if one.kind != KeyboardInterrupt.__name__), None)
    if any(cause.fails for _, cause in heard):
        ended = None
    run = case.run()
    return Report(findings, torch=run.torch, recording=str(recording.path), left_out=left_out, unexplained=ended)


def _answers(case: Case, kinds: list[Kind], mistakes: list[Exception] | None) -> tuple[list[Found], tuple[str, ...]]:
    """What the questions find, and the codes left out: those took too long, or rest on one that did."""
    found: list[Found] = []
    left_out: set[str] = set()
    end = case.clock() + ALL
    for kind in kinds:
        with noted(mistakes):
            try:
                with case.within(min(LONGEST, end - case.clock())):
                    found += [(kind, cause) for cause in kind.question(case)]
            except OutOfTime:
                left_out.add(kind.code)
    left_out |= {kind.code for kind in kinds if left_out & {*kind.unless, *kind.after}}
    return [(kind, cause) for kind, cause in found if kind.code not in left_out], tuple(sorted(left_out))


def _rank(found: Found) -> tuple[object, ...]:
    """What explains a failure, then the worse, then what is no symptom, then the surer, then the heavier; the table's
    order decides the rest."""
    kind, cause = found
    return not cause.fails, _severity(kind, cause).rank, kind.symptom, not cause.certain, -cause.weight


def _severity(kind: Kind, cause: Cause) -> Severity:
    """What ended a run is an error, whatever its kind is elsewhere."""
    return cause.severity or (Severity.ERROR if cause.fails else kind.severity)


def _without_echoes(found: list[Found]) -> Iterator[Found]:
    """Leave out what another kind has said of the same line, or explains wherever it stands."""
    said = {(kind.code, _place(cause.site)) for kind, cause in found}
    codes = {kind.code for kind, _ in found}
    for kind, cause in found:
        told = codes & set(kind.unless) or any((code, _place(cause.site)) in said for code in kind.after)
        if not told:
            yield kind, cause


def _joined(found: list[Found]) -> Iterator[Found]:
    """The same cause met again and again, step after step, is one."""
    times: dict[object, list[Found]] = {}
    for kind, cause in found:
        times.setdefault((kind.code, _place(cause.site), cause.tensor, cause.message), []).append((kind, cause))
    yield from (same[0] for same in times.values())


def _silenced(case: Case, kind: Kind, cause: Cause) -> bool:
    """Whether a comment on the line to edit, or on one beside it, ignores the code."""
    sites = (cause.site, *(related.site for related in cause.related))
    return any(silences(_line(case, site), kind.code) for site in sites if site is not None)


def _line(case: Case, site: Site) -> str:
    return syntax(case).line(site.file, site.line) or ""


def _place(site: Site | None) -> tuple[str, int] | None:
    return None if site is None else (site.file, site.line)


def _finding(kind: Kind, cause: Cause) -> Finding:
    finding = Finding(kind.code, kind.name, _severity(kind, cause), cause.message)
    return replace(
        finding,
        advice=cause.advice or kind.advice,
        site=cause.site,
        related=cause.related,
        confidence=Confidence.CERTAIN if cause.certain else Confidence.LIKELY,
        node=cause.node,
        op=cause.op,
        tensor=cause.tensor,
        module=cause.module,
        backward=cause.backward,
        function=cause.function,
    )
