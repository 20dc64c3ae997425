"""Graphviz's programs as children, with a limit on time and on memory: `dot`, and its port to one file from pip."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

PATIENCE = 20.0  # seconds
MOST_MEMORY = 2 << 30  # bytes
NAMES = {"dot": "dot", "pure": "graphviz-pure"}


class EngineFailed(Exception):
    """An engine could not draw, and why, in a few words."""


def find(engine: str) -> str | None:
    """The program of an engine, if it is there and starts."""
    name = NAMES[engine]
    program = shutil.which(name) or shutil.which(name, path=str(Path(sys.executable).parent))
    return program if program is not None and starts(program) else None


@cache
def starts(program: str) -> bool:
    """Whether it says its version: some installations hold a `dot` that cannot find its libraries."""
    try:
        run(program, ["-V"], "")
    except EngineFailed:
        return False
    return True


def run(program: str, arguments: list[str], text: str) -> bytes:
    """What a program writes for a text. Raises EngineFailed when it fails, takes too long or needs too much memory."""
    try:
        done = subprocess.run(
            [program, *arguments],
            input=text.encode("utf-8", "replace"),
            capture_output=True,
            check=False,
            timeout=PATIENCE,
            preexec_fn=_limiter(),
        )
    except subprocess.TimeoutExpired:
        raise EngineFailed(f"was not done after {PATIENCE:.0f} s") from None
    except OSError as error:
        raise EngineFailed(f"does not start: {error.strerror}") from None
    if done.returncode != 0:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise EngineFailed(said[0][:200] if said else f"ended with status {done.returncode}")
    return done.stdout


def _limiter() -> Callable[[], None] | None:
    """What limits a child's memory before it starts, where the system can do that."""
    if sys.platform == "win32":
        return None
    import resource

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    return limit
