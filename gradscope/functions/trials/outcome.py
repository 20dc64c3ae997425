"""How one trial ended, as plain data: it travels from the child process to the rules, which never see a tensor."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from gradscope.model.report import Status
from gradscope.model.site import Site


@dataclass(frozen=True, slots=True)
class Outcome:
    """A trial's end. `method` and `site` are where in the Function's own code an exception came from, if it did."""

    status: Status
    detail: str = ""
    error: str = ""
    message: str = ""
    method: str = ""
    site: Site | None = None
    facts: dict[str, Any] = field(default_factory=dict)


SKIPPED = Outcome(Status.SKIPPED, "not run")
OK = Outcome(Status.OK)


def wrong(detail: str, **facts: Any) -> Outcome:
    """The trial ran to its end and gave other values than it should."""
    return Outcome(Status.WRONG, detail, facts=facts)


class NotApplicable(Exception):
    """Raised in a trial that makes no sense for this Function or sample."""


class NotTried(Exception):
    """Raised in a trial that makes sense but is not run here: the report says why it was left out."""


def worst(outcomes: list[Outcome]) -> Outcome:
    """The outcome that stands for several samples: a failure before ok before n/a; it counts how many failed."""
    order = (Status.RAISES, Status.WRONG, Status.OK, Status.NOT_APPLICABLE, Status.SKIPPED)
    first = min(outcomes, key=lambda outcome: order.index(outcome.status))
    failures = sum(outcome.status.failed for outcome in outcomes)
    facts = {**first.facts, "shown_by": (failures, len(outcomes))}
    return Outcome(first.status, first.detail, first.error, first.message, first.method, first.site, facts)
