"""Words that the questions share."""

from __future__ import annotations

from collections.abc import Sequence


def several(names: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and 3 more`."""
    shown = list(names) if len(names) <= 3 else [*names[:2], f"{len(names) - 2} more"]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def be(names: Sequence[str]) -> str:
    """`is` or `are`."""
    return "is" if len(names) == 1 else "are"
