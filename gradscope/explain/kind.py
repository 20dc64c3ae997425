"""A kind of fault: a code, a name, a severity and a question, whose docstring is the page `gradscope rule` prints."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gradscope.model.finding import Related, Severity
from gradscope.model.page import line, section
from gradscope.model.site import Site

if TYPE_CHECKING:
    from gradscope.explain.case import Case

HEADINGS = ("What it flags", "Why", "Wrong", "Right", "Do instead", "How it is found")


@dataclass(frozen=True, slots=True)
class Cause:
    """What a question found. `site` is the line to edit.

    `fails` is True when it explains the exception that ended the run or a backward: such findings come first.
    `severity` and `advice` replace those of the kind; `certain` is False where the evidence allows another cause.
    `weight` orders causes of one kind: the heavier first. The rest is as in a Finding.
    """

    message: str
    site: Site | None = None
    related: tuple[Related, ...] = ()
    fails: bool = False
    certain: bool = True
    severity: Severity | None = None
    advice: str = ""
    node: int | None = None
    op: str | None = None
    tensor: str | None = None
    module: str | None = None
    backward: int | None = None
    function: str | None = None
    weight: float = 0.0


Question = Callable[["Case"], Iterable[Cause]]


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of fault. `after` names codes: when one of them was found at the same line, this kind has no news;
    `unless` names codes that leave it none wherever they were found, because they explain what it would name.

    `advises` replaces the page's advice, for a kind whose page is a rule of check-function. `points` is False where it
    takes following values through the whole run, and no node is named in the end.
    """

    code: str
    name: str
    severity: Severity
    question: Question
    after: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()
    advises: str = ""
    points: bool = True

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
