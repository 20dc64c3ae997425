"""Arms a program that was started without gradscope: Python itself has it run a file of ours, from 3.14 on.

The file runs in the program's main thread, between two of its instructions. It is written for this one process, in a
folder that only its user may enter, runs once, and says in a file beside it how that went.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from gradscope.channel.client import ARM_IT, NotArmed, of_another
from gradscope.channel.processes import is_anothers, is_there
from gradscope.errors import GradscopeError, UsageError
from gradscope.model.printable import printable

Execute = Callable[[int, str], None]
_ROOT = Path(__file__).resolve().parents[2]  # where this gradscope is found
_PATIENCE = 10.0  # seconds for the main thread to come to its next instruction
_GLANCE = 0.02
_LONGEST = 2000  # characters of an answer

# Nothing may come out of it into the program: no exception, no output. It may strike in the middle of `import torch`,
# and to use a module that is half there crashes the process.
_SCRIPT = """
def _attach():
    import os, sys
    answer = ""
    try:
        os.unlink({script!r})
        torch = [module for name, module in list(sys.modules.items()) if name.partition(".")[0] == "torch"]
        specs = [getattr(module, "__dict__", {{}}).get("__spec__") for module in torch]
        if not torch:
            answer = "it has not imported torch"
        elif any(getattr(spec, "_initializing", False) for spec in specs):
            answer = "it is just importing torch; ask again"
        else:
            import importlib.util
            if importlib.util.find_spec("gradscope") is None:
                sys.path.append({root!r})
            from gradscope.autostart import attach
            answer = attach()
    except BaseException as error:
        answer = type(error).__name__ + ": " + str(error)
    try:
        with open({answer!r} + ".part", "w", encoding="utf-8") as stream:
            stream.write(answer)
        os.replace({answer!r} + ".part", {answer!r})
    except OSError:
        pass
_attach()
"""
_WITHDRAWN = """
def _nothing():
    import shutil
    shutil.rmtree({folder!r}, ignore_errors=True)
_nothing()
"""


def can_attach() -> bool:
    """Whether this Python can have another process run something."""
    return hasattr(sys, "remote_exec")


def attach(pid: int, refused: NotArmed, execute: Execute | None = None, patience: float = _PATIENCE) -> None:
    """Arm a process that is there and does not listen. Raises UsageError when that cannot be, `refused` when it is no
    program that could be armed."""
    _check(pid)
    execute = execute or sys.remote_exec  # type: ignore[attr-defined]  # from Python 3.14 on
    folder = Path(tempfile.mkdtemp(prefix="gradscope-attach-"))  # which nobody else may enter
    script, answer = folder / "arm.py", folder / "answer"
    script.write_text(_SCRIPT.format(script=str(script), answer=str(answer), root=str(_ROOT)), encoding="utf-8")
    try:
        execute(pid, str(script))
    except (OSError, RuntimeError, ValueError) as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise UsageError(f"{refused.sentence}, and cannot be attached to: {_why_not(error)}", ARM_IT) from None
    said = _wait(answer, patience)
    if said is None:
        _withdraw(folder, script)
        told = "its main thread runs no Python now" if is_there(pid) else "it has ended"
        raise UsageError(f"{refused.sentence}, and did not let itself be attached to: {told}", ARM_IT)
    shutil.rmtree(folder, ignore_errors=True)
    if said:
        raise UsageError(f"{refused.sentence}, and cannot be: {printable(said[:_LONGEST])}", ARM_IT)


def _why_not(error: Exception) -> str:
    """In words; Python's own speak of its memory where the process runs another Python, or none."""
    words = printable(str(error)) or type(error).__name__
    if isinstance(error, PermissionError):
        return f"the system does not permit it ({words})"
    if isinstance(error, RuntimeError):
        version = ".".join(map(str, sys.version_info[:2]))
        return f"it does not run Python {version}, as this command does, or is closed to debuggers ({words})"
    return words


def _check(pid: int) -> None:
    """Refuse another user's process, and one that would not find our file. Raises UsageError."""
    if is_anothers(pid):
        raise of_another(pid)
    try:
        elsewhere = Path(f"/proc/{pid}/ns/mnt").readlink() != Path("/proc/self/ns/mnt").readlink()
    except PermissionError:
        raise UsageError(f"process {pid} is not to be looked into", "only who runs a program can record it") from None
    except OSError:  # no such file system: Python will say what it can
        return
    if elsewhere:
        raise UsageError(f"process {pid} runs in a container", "run gradscope record in there")


def _wait(answer: Path, patience: float) -> str | None:
    until = time.monotonic() + patience
    while not answer.exists():
        if time.monotonic() > until:
            return None
        time.sleep(_GLANCE)
    try:
        return answer.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise GradscopeError(f"{answer} cannot be read: {error.strerror}") from None


def _withdraw(folder: Path, script: Path) -> None:
    """Have the file do nothing when its turn comes: Python would complain in the program if it were not there."""
    other = folder / "nothing.py"
    try:
        other.write_text(_WITHDRAWN.format(folder=str(folder)), encoding="utf-8")
        other.replace(script)
    except OSError:
        return
