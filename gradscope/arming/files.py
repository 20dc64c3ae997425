"""The names of the files that one run leaves: that of a whole recording, with a step in it."""

from __future__ import annotations

from pathlib import Path

from gradscope.launch.paths import SUFFIX


def free_path(path: Path, step: int) -> Path:
    """The name of a file that begins or ends with this step."""
    for again in ("", *(f"-{count}" for count in range(2, 1000))):
        found = path.with_name(f"{path.name.removesuffix(SUFFIX)}.s{step}{again}{SUFFIX}")
        if not found.exists():
            return found
    return found
