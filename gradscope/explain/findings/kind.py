"""A kind of fault: a code, a name, a severity and a question, whose docstring is the page `gradscope rule` prints."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.evidence.case import Case
from gradscope.model.finding import Severity
from gradscope.model.page import line, section

HEADINGS = ("What it flags", "Why", "Wrong", "Right", "Do instead", "How it is found")


Question = Callable[[Case], Iterable[Cause]]


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of fault. `after` names codes: when one of them was found at the same line, this kind is left out;
    `unless` names codes that silence it wherever they were found, because they explain what it would name.

    `advises` replaces the page's advice, for a kind whose page is a rule of check-function. `points` is False where it
    takes following values through the whole run, and no node is named in the end. A `symptom` is told after what may
    have led to it.
    """

    code: str
    name: str
    severity: Severity
    question: Question
    after: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()
    advises: str = ""
    points: bool = True
    symptom: bool = False

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
        return self.advises or line(self.section("Do instead"))
