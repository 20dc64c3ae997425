"""Whether the process that writes a recording is still there."""

from __future__ import annotations

import hashlib
import os
import time
from pathlib import Path

_SLACK = 5.0  # seconds by which clocks may differ


def process_identity(pid: int) -> str | None:
    """What tells a process from all others that get its number, whatever the clock says; None where nobody knows."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        ticks = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return None
    return hashlib.blake2b(f"{boot} {ticks}".encode(), digest_size=8).hexdigest()


def is_running(pid: int, started: float, process: str | None = None) -> bool:
    """Whether that process runs on this machine; another one may have got its number. `process`: its identity."""
    try:
        os.kill(pid, 0)
    except PermissionError:
        pass
    except (OSError, OverflowError):
        return False
    now = None if process is None else process_identity(pid)
    if now is not None:
        return now == process
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
