"""A rule: a code, a name, a severity and a check whose docstring is the page that `gradscope rule CODE` prints."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from gradscope.functions.rules.case import FunctionCase
from gradscope.functions.rules.fault import Violation
from gradscope.model.finding import Severity
from gradscope.model.page import line, section

HEADINGS = ("What it flags", "Why", "Do instead", "How it is decided")


Check = Callable[[FunctionCase], Iterable[Violation]]


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. `proven`: what it finds stands in the class itself, or is a write that was seen, whatever the inputs;
    all else is no more than a warning where the inputs are guessed. `by_shape`: it is about shapes, which guesses may
    have wrong: one step less there.
    """

    code: str
    name: str
    severity: Severity
    check: Check
    proven: bool = False
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
