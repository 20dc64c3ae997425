"""Graphviz's programs as children, with a limit on time and on memory: `dot`, and its port to one file from pip."""

from __future__ import annotations

import shutil
import subprocess
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path

PATIENCE = 20.0  # seconds
MOST_MEMORY = 2 << 30  # bytes
NAMES = {"dot": "dot", "pure": "graphviz-pure"}
ENGINES = ("auto", *NAMES, "builtin")


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
        with subprocess.Popen(
            [program, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as child:
            _limit_memory(child.pid)
            try:
                out, err = child.communicate(text.encode("utf-8", "replace"), PATIENCE)
            except BaseException:
                child.kill()
                raise
    except subprocess.TimeoutExpired:
        raise EngineFailed(f"was not done after {PATIENCE:.0f} s") from None
    except OSError as error:
        raise EngineFailed(f"does not start: {error.strerror}") from None
    if child.returncode != 0:
        said = err.decode("utf-8", "replace").strip().splitlines()
        raise EngineFailed(said[0][:200] if said else f"ended with status {child.returncode}")
    return out


def _limit_memory(child: int) -> None:
    """Limit a child that has just started, where the system can do that (Linux): it waits for its input still."""
    if sys.platform == "linux":
        import resource

        with suppress(ProcessLookupError, PermissionError):
            resource.prlimit(child, resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
            resource.prlimit(child, resource.RLIMIT_CORE, (0, 0))
