"""GS199: what failed although no rule explains it; reported with torch's own words, never swallowed."""

from __future__ import annotations

from collections.abc import Iterator

from gradscope.functions.rules.case import SECOND_ORDER, FunctionCase
from gradscope.functions.rules.fault import Violation
from gradscope.functions.rules.returns import below_promise
from gradscope.model.finding import Severity
from gradscope.model.report import Source


def unexplained(case: FunctionCase) -> Iterator[Violation]:
    """What it flags: a trial that fails although no other rule says why.
    Why: torch or the Function raises, or gives other values, for a reason that gradscope has no rule for.
    Do instead: read torch's own message; if the Function is right, tell gradscope's authors.
    How it is decided: by running; failures with one cause are reported once. A NotImplementedError that the Function
    raises itself is a note, and so is what guessed inputs show. A second derivative that is wrong where the first one
    is needs no further word.
    """
    if case.gradient_wrong:
        case.explained.update(SECOND_ORDER)
    while case.failing():
        first = case.failing()[0]
        explains = case.same_cause(first)
        outcome = case.outcome(first)
        refused = outcome.error == "NotImplementedError" and outcome.site is not None
        guessed = case.source is Source.GUESSED and outcome.error != "Crash"
        refused |= guessed and not case.fact(first, "reference")
        yield Violation(
            f"{first} {outcome.status.value}: {outcome.detail}",
            outcome.site or case.subject.site,
            explains,
            Severity.INFO if refused else below_promise(case, explains),
            proven=outcome.error == "Crash",
        )
        case.explained.update(explains)
