"""What gradscope has to say about a program: a finding has a code, a line to edit and advice."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from gradscope.model.site import Site


class Severity(enum.Enum):
    """How bad: an error is wrong or fails, a warning may be, an info is a limit."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"

    @property
    def rank(self) -> int:
        """0 for the worst, for sorting."""
        return list(Severity).index(self)


class Confidence(enum.Enum):
    """Whether a run confirmed the finding (certain) or only the source hints at it (likely)."""

    CERTAIN = "certain"
    LIKELY = "likely"


@dataclass(frozen=True, slots=True)
class Related:
    """Another place that belongs to a finding; `role` is one of the contract's (saved_at, fails_at, class_at, ...)."""

    role: str
    site: Site | None = None
    what: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing to mend. `site` is the cause, the line to edit; `function` names the checked autograd.Function."""

    code: str
    name: str
    severity: Severity
    message: str
    advice: str = ""
    site: Site | None = None
    related: tuple[Related, ...] = ()
    node: int | None = None
    confidence: Confidence = Confidence.CERTAIN
    op: str | None = None
    tensor: str | None = None
    module: str | None = None
    backward: int | None = None
    function: str | None = None
