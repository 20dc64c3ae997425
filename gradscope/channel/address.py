"""Where armed programs are found: a socket each, in a folder that only its owner may enter.

The folder is the same for every process of a user, whatever TMPDIR says: a program on a cluster and the shell that asks
it are often told different ones.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from gradscope.errors import UsageError

VARIABLE = "GRADSCOPE_CHANNELS"
ENDING = ".sock"


def folder() -> Path:
    """The folder of this user's sockets; $GRADSCOPE_CHANNELS names another one."""
    return Path(os.environ.get(VARIABLE) or f"/tmp/gradscope-{_user()}")


def made() -> Path:
    """The folder, made if need be. Raises UsageError when it is not ours alone."""
    path = folder()
    try:
        path.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot make {path}: {error.strerror}", f"name another folder in {VARIABLE}") from None
    check(path)
    return path


def check(path: Path) -> None:
    """Refuse a folder that others may enter, or that is theirs. Raises UsageError."""
    found = path.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != _user() or stat.S_IMODE(found.st_mode) & 0o077:
        raise UsageError(f"{path} is not a folder of yours alone", f"chmod 700 it, or name another one in {VARIABLE}")


def socket_of(pid: int) -> Path:
    """The socket of a process."""
    return folder() / f"{pid}{ENDING}"


def processes() -> list[int]:
    """The processes that have a socket; some may have been killed."""
    try:
        check(folder())
        names = [path.stem for path in folder().iterdir() if path.suffix == ENDING]
    except FileNotFoundError:
        return []
    except PermissionError:
        raise UsageError(f"{folder()} is another user's", f"{VARIABLE} names another folder") from None
    return sorted(int(name) for name in names if name.isascii() and name.isdigit())


def _user() -> int:
    return os.getuid() if hasattr(os, "getuid") else 0
