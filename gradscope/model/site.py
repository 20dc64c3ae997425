"""Where something stands in the code. Stacks run from the innermost frame outwards."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Origin(enum.Enum):
    """Whose code a frame belongs to."""

    USER = "user"
    LIBRARY = "library"
    TORCH = "torch"


_USER = Origin.USER


@dataclass(frozen=True, slots=True)
class Site:
    """One line of code. `line` is 1-based; `source` is the stripped text of that line when it is known."""

    file: str
    line: int
    function: str = ""
    source: str | None = None
    origin: Origin = Origin.USER

    def __hash__(self) -> int:
        return hash((self.file, self.line))  # a quarter of what all fields take: stacks are looked up step by step

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"

    def is_in_function_of(self, other: Site | None) -> bool:
        """Whether another line is in a function of the same name, of the same file."""
        return other is not None and (self.file, self.function) == (other.file, other.function)


Stack = tuple[Site, ...]
"""Innermost frame first, as torch gathers it; frames of gradscope itself are never in it."""


def user_site(stack: Stack) -> Site | None:
    """The innermost frame of the user's own code: the line that led there, and the one to edit."""
    for site in stack:  # a loop and no generator: it is asked of each operator again and again
        if site.origin is _USER:
            return site
    return None


def user_frames(stack: Stack) -> tuple[Site, ...]:
    """The frames of the user's own code, innermost first."""
    return tuple(site for site in stack if site.origin is _USER)


class Located:
    """What happened under a stack of frames."""

    __slots__ = ()
    stack: Stack

    @property
    def site(self) -> Site | None:
        """The user's line that led there."""
        return user_site(self.stack)


def library_site(stack: Stack) -> Site | None:
    """The innermost library frame inside the user's line, if the node was made within a library."""
    for site in stack:
        if site.origin is Origin.USER:
            return None
        if site.origin is Origin.LIBRARY:
            return site
    return None
