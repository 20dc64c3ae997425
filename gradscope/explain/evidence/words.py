"""Words that the questions share."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath

from gradscope.model.site import Site


def several(names: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and 3 more`."""
    shown = list(names) if len(names) <= 3 else [*names[:2], f"{len(names) - 2} more"]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def be(names: Sequence[str]) -> str:
    """`is` or `are`."""
    return "is" if len(names) == 1 else "are"


def line_of(site: Site, told: Site | None) -> str:
    """`line 68`, and `line 68 of train.py` where the line that is told is in another file."""
    is_here = told is None or told.file == site.file
    return f"line {site.line}" if is_here else f"line {site.line} of {PurePath(site.file).name}"
