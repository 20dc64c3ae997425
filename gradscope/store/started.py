"""The folders in which the recordings stand of processes that a recorded one started."""

from __future__ import annotations

from collections.abc import Iterable
from glob import escape
from pathlib import Path


def folders_started_by(launchers: Iterable[Path]) -> list[Path]:
    """Those of the name of a launcher and the number of its process, the newest first."""
    beside = {folder for one in launchers for folder in one.parent.glob(f"{escape(one.stem)}.*[0-9]")}
    return sorted((folder for folder in beside if folder.is_dir()), key=_changed, reverse=True)


def _changed(folder: Path) -> tuple[int, str]:
    return folder.stat().st_mtime_ns, folder.name
