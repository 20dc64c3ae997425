"""What is handed over to other tools: slices of time on tracks, and rows of operators."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)  # not frozen: there are millions of them, and frozen ones take three times as long to make
class Slice:
    """Something that took time in a thread: nanoseconds since the epoch. `measured`: whether its times were, or are
    spread over the stretch that it belongs to. `leaves` and `enters` are ids of flows."""

    name: str
    category: str
    start: int
    end: int
    thread: int
    place: str = ""
    measured: bool = True
    leaves: int | None = None
    enters: int | None = None
