"""A kind of fault of several ranks: a code, a name, a severity and a question, whose docstring is its page."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from gradscope.model.finding import Confidence, Finding, Related, Severity
from gradscope.model.page import line, section
from gradscope.model.site import Site
from gradscope.ranks.core.known import Ranks

HEADINGS = ("What it flags", "Why", "Wrong", "Right", "Do instead", "How it is found")


@dataclass(frozen=True, slots=True)
class Blame:
    """What a question found: the line, the sentence, and where the other ranks are."""

    message: str
    site: Site | None
    related: tuple[Related, ...] = ()
    certain: bool = True
    backward: int | None = None
    operator: str | None = None
    tensor: str | None = None
    meant: bool = False  # it may well be: a hint


@dataclass(frozen=True, slots=True)
class RankKind:
    """One kind of fault. `unless` names codes that silence it, because they explain what it would name."""

    code: str
    name: str
    severity: Severity
    question: Callable[[Ranks], Iterable[Blame]]
    unless: tuple[str, ...] = ()

    @property
    def page(self) -> str:
        """What it flags, why, a wrong and a right example, what to do instead, how it is found."""
        return inspect.cleandoc(self.question.__doc__ or "")

    def section(self, heading: str) -> str:
        """One section of the page as it stands."""
        return section(self.page, heading, HEADINGS)

    @property
    def advice(self) -> str:
        """What to do instead, as one line."""
        return line(self.section("Do instead"))

    def finding(self, blame: Blame) -> Finding:
        """What is reported."""
        return Finding(
            code=self.code,
            name=self.name,
            severity=Severity.INFO if blame.meant else self.severity,
            message=blame.message,
            advice=self.advice,
            site=blame.site,
            related=blame.related,
            confidence=Confidence.CERTAIN if blame.certain else Confidence.LIKELY,
            backward=blame.backward,
            op=blame.operator,
            tensor=blame.tensor,
        )
