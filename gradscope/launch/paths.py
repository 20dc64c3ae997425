"""Where a recording goes that nobody has named."""

from __future__ import annotations

import os
from pathlib import Path

SUFFIX = ".gscope"


def default_path(title: str, directory: Path | None = None) -> Path:
    """`<script>.<pid>.gscope`, or `<script>.r00003-of-00008.<pid>.gscope` under torchrun."""
    rank, world = os.environ.get("RANK", ""), os.environ.get("WORLD_SIZE", "")
    part = f".r{int(rank):05d}-of-{int(world):05d}" if rank.isdigit() and world.isdigit() else ""
    return (directory or Path(os.environ.get("GRADSCOPE_DIR") or ".")) / f"{title}{part}.{os.getpid()}{SUFFIX}"
