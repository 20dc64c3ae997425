"""What a rule finds in a Function."""

from __future__ import annotations

from dataclasses import dataclass

from gradscope.model.finding import Related, Severity
from gradscope.model.site import Site


@dataclass(frozen=True, slots=True)
class Violation:
    """A fault that a rule found. `explains` are the trials that fail because of it: no other rule need explain them.

    `severity` replaces the rule's own; `certain` is False for a hint in the source that no run could confirm;
    `proven` is True where the Function's own code is at fault whatever its inputs.
    """

    message: str
    site: Site | None = None
    explains: tuple[str, ...] = ()
    severity: Severity | None = None
    certain: bool = True
    proven: bool = False
    advice: str = ""
    related: tuple[Related, ...] = ()
