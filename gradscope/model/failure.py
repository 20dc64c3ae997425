"""What ended a program: the exception that nobody caught."""

from __future__ import annotations

from dataclasses import dataclass

from gradscope.model.site import Located, Stack


@dataclass(frozen=True, slots=True)
class Failure(Located):
    """An uncaught exception: its type's name, its message, and where it was raised.

    `backward` is the number of the backward call that it came out of, None when it came from elsewhere.
    """

    kind: str
    message: str
    stack: Stack = ()
    thread: int = 0
    backward: int | None = None
