"""Something that a probe saw and that says what it means by itself."""

from __future__ import annotations

from dataclasses import dataclass

from gradscope.model.site import Located, Stack

FORGETS_CHANCE = "checkpoint-forgets-chance"  # of a checkpoint that draws other random numbers when it runs again


@dataclass(frozen=True, slots=True)
class Notice(Located):
    """`what` is the name of the thing seen, `stack` where; each is recorded once for a stack."""

    what: str
    stack: Stack
