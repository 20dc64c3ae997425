"""Whether a process is there, and whose it is: for the sentence on one that cannot be asked."""

from __future__ import annotations

import os
from pathlib import Path


def is_there(pid: int) -> bool:
    """Whether there is such a process, whoever runs it."""
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except (OSError, OverflowError):
        return False
    return True


def is_anothers(pid: int) -> bool:
    """Whether another user runs it; where the system does not say, it is taken for ours."""
    try:
        return Path(f"/proc/{pid}").stat().st_uid != os.getuid()
    except (OSError, AttributeError):
        return False
