"""Whether the process that writes a recording is still there."""

from __future__ import annotations

import os
import time
from pathlib import Path

_SLACK = 5.0  # seconds by which clocks may differ


def is_running(pid: int, started: float) -> bool:
    """Whether that process runs on this machine; one that began after the recording has only got its number."""
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except (OSError, OverflowError):
        return False
    age = _age(pid)
    return age is None or time.time() - age <= started + _SLACK


def _age(pid: int) -> float | None:
    """Seconds since a process began, where the system tells it."""
    try:
        ticks = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])
        up = float(Path("/proc/uptime").read_text().split()[0])
        return up - ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return None
