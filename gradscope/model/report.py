"""What a check hands over: findings in order, and for every checked Function what was run and on which inputs."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field, replace

from gradscope.model.failure import Failure
from gradscope.model.finding import Finding, Severity
from gradscope.model.site import Site


class Status(enum.Enum):
    """How a trial ended. NOT_APPLICABLE: it makes no sense for this Function; SKIPPED: it was not run."""

    OK = "ok"
    WRONG = "wrong"
    RAISES = "raises"
    NOT_APPLICABLE = "n/a"
    SKIPPED = "skipped"

    @property
    def failed(self) -> bool:
        """Whether torch did not do what the formula says."""
        return self in (Status.WRONG, Status.RAISES)


class Source(enum.Enum):
    """Where inputs came from."""

    GIVEN = "given"
    DECLARED = "declared"
    RECORDED = "recorded"
    GUESSED = "guessed"


class Verdict(enum.Enum):
    """The outcome for one Function; there is no "ok" without inputs that were run."""

    OK = "ok"
    FINDINGS = "findings"
    NOT_CHECKED = "not-checked"


@dataclass(frozen=True, slots=True)
class TrialResult:
    """One trial's end: its status, a detail when there is something to say, and the family it belongs to."""

    status: Status
    detail: str = ""
    group: str = ""


@dataclass(frozen=True, slots=True)
class SubjectReport:
    """One checked Function. `rests_on` describes its inputs, `spec` says them in the words of `--spec` where that can
    be; `not_checked` says what could not be looked at; `meant` are settings that say what was taken as meant.
    """

    function: str
    inputs: Source | None
    verdict: Verdict
    trials: dict[str, TrialResult] = field(default_factory=dict)
    site: Site | None = None
    rests_on: str = ""
    not_checked: tuple[str, ...] = ()
    ignored: int = 0
    spec: str = ""
    meant: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Unimported:
    """A module that defines Functions and could not be imported, and why."""

    module: str
    reason: str


@dataclass(frozen=True, slots=True)
class Unchecked:
    """A custom Function that a run met and that was not tried; the reason is "" where nobody asked for it."""

    function: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """All findings, the one that explains most first, and the Functions they belong to.

    `left_out` are the codes that were not looked for to the end, because it took too long. Of the custom Functions that
    a recording met, `checked` names those that check-function tried. `unimported` are modules of a checked package.
    `unexplained` is what ended the run, where no finding explains it.
    """

    findings: tuple[Finding, ...] = ()
    subjects: tuple[SubjectReport, ...] = ()
    torch: str = ""
    recording: str | None = None
    left_out: tuple[str, ...] = ()
    checked: tuple[str, ...] = ()
    unchecked: tuple[Unchecked, ...] = ()
    unimported: tuple[Unimported, ...] = ()
    unexplained: Failure | None = None

    @property
    def gap(self) -> str | None:
        """What is not known, in one sentence."""
        if not self.left_out:
            return None
        codes = " and ".join(filter(None, (", ".join(self.left_out[:-1]), self.left_out[-1])))
        return f"not known whether there is more: looking for {codes} took too long and was left out"

    def joined(self, other: Report) -> Report:
        """Two checks as one report."""
        return replace(
            self,
            findings=(*self.findings, *other.findings),
            subjects=(*self.subjects, *other.subjects),
            unchecked=(*self.unchecked, *other.unchecked),
            unimported=(*self.unimported, *other.unimported),
        )

    def at_least(self, severity: Severity) -> tuple[Finding, ...]:
        """The findings that are as bad as `severity` or worse."""
        return tuple(finding for finding in self.findings if finding.severity.rank <= severity.rank)

    def of(self, function: str) -> tuple[Finding, ...]:
        """The findings of one Function."""
        return tuple(finding for finding in self.findings if finding.function == function)
