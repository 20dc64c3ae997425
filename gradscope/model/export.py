"""What is handed over to other tools: slices of time on tracks."""

from __future__ import annotations

from dataclasses import dataclass

# Start, end, kind and flow: nanoseconds since the epoch, and 0 or the id of the arrow that leaves or enters it. A bare
# tuple: there are millions of them, and a noun takes five times as long to make.
Slice = tuple[int, int, "Kind", int]


@dataclass(frozen=True, slots=True, eq=False)  # looked up by identity, which is quick: each is made once
class Kind:
    """What slices have in common that differ in nothing but their time. `measured`: whether their times were, or are
    spread over the stretch that they belong to."""

    name: str
    category: str
    place: str = ""
    measured: bool = True
