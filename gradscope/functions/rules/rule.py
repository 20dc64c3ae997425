"""A rule: a code, a name, a severity and a check whose docstring is the page that `gradscope rule CODE` prints."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gradscope.model.finding import Related, Severity
from gradscope.model.page import line, section
from gradscope.model.site import Site

if TYPE_CHECKING:
    from gradscope.functions.rules.case import Case

HEADINGS = ("What it flags", "Why", "Do instead", "How it is decided")


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault that a rule found. `explains` are the trials that fail because of it: no other rule need explain them.

    `severity` replaces the rule's own; `certain` is False for a hint in the source that no run could confirm.
    """

    message: str
    site: Site | None = None
    explains: tuple[str, ...] = ()
    severity: Severity | None = None
    certain: bool = True
    advice: str = ""
    related: tuple[Related, ...] = ()


Check = Callable[["Case"], Iterable[Fault]]


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. `on_guesses` False: a failure may come from badly guessed inputs, so that it only warns there,
    unless every guess shows it. `by_shape`: the evidence is a shape, and guesses may be wrong in it all alike.
    """

    code: str
    name: str
    severity: Severity
    check: Check
    on_guesses: bool = True
    by_shape: bool = False

    @property
    def page(self) -> str:
        """The page: what it flags, why, what to do instead, how it is decided."""
        return inspect.cleandoc(self.check.__doc__ or "")

    @property
    def promise(self) -> str:
        """The level at which a Function promises not to have this fault: eager, func or compile."""
        return {"3": "func", "6": "compile"}.get(self.code[2], "eager")

    def section(self, heading: str) -> str:
        """One section of the page, as one line."""
        return line(section(self.page, heading, HEADINGS))
