"""What a question answers with: a fault that was found, and the line to edit."""

from __future__ import annotations

from dataclasses import dataclass

from gradscope.model.finding import Related, Severity
from gradscope.model.site import Site


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
