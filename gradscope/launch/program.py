"""Runs a program exactly as `python SCRIPT`, `python -m MODULE` or `python -c CODE` would."""

from __future__ import annotations

import builtins
import contextlib
import importlib.machinery
import importlib.util
import io
import os
import runpy
import signal
import sys
import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import CodeType
from typing import Any

from gradscope.errors import UsageError
from gradscope.probes.core.traceback_filter import clean

INTERRUPTED = -signal.SIGINT  # the status of a program that an uncaught KeyboardInterrupt ended
_RUNPY: CodeType = runpy._run_module_as_main.__code__  # type: ignore[attr-defined]


@dataclass(frozen=True, slots=True)
class Program:
    """A program to run: its outermost code, what `__main__` holds at first, its argv and its first sys.path entry.

    A `module` is handed to runpy, as Python itself does: its frames belong in a traceback.
    """

    code: CodeType
    argv: tuple[str, ...]
    path: str
    title: str
    names: dict[str, Any] = field(default_factory=dict)
    module: str | None = None

    @property
    def typed(self) -> tuple[str, ...]:
        """What stands after `python` on its command line."""
        first, *rest = self.argv
        return (first, self.title, *rest) if first == "-m" else self.argv


def script(file: str, arguments: Sequence[str]) -> Program:
    """`python FILE ARGUMENTS`. Raises UsageError when the file is missing; its own syntax errors are the program's."""
    full = os.path.join(os.getcwd(), file)  # not made plainer: Python keeps what was typed
    title = os.path.splitext(os.path.basename(os.path.normpath(full)))[0]
    if os.path.isfile(os.path.join(full, "__main__.py")):
        return Program(_RUNPY, (file, *arguments), full, title, module="__main__")
    if not os.path.isfile(full):
        raise UsageError(f"there is no script {file}", "gradscope trace [OPTIONS] SCRIPT ARGS...; use -m for a module")
    try:
        with io.open_code(full) as stream:
            source = stream.read()
    except OSError as error:
        raise UsageError(f"cannot read {file}: {error.strerror}", "check its permissions") from None
    names = {"__loader__": importlib.machinery.SourceFileLoader("__main__", full), "__file__": full, "__cached__": None}
    return Program(_compile(source, full), (file, *arguments), os.path.dirname(os.path.realpath(full)), title, names)


def command(code: str, arguments: Sequence[str]) -> Program:
    """`python -c CODE ARGUMENTS`."""
    names = {"__loader__": importlib.machinery.BuiltinImporter}
    return Program(_compile(code.encode(), "<string>"), ("-c", *arguments), "", "command", names)


def module(name: str, arguments: Sequence[str]) -> Program:
    """`python -m NAME ARGUMENTS`. Raises UsageError when there is no such module."""
    argv = ("-m", *arguments)  # runpy puts the file's name in its place
    _enter(argv, os.getcwd())
    if not _exists(name):
        raise UsageError(
            f"there is no module {name} to run", "the working directory is importable; a package needs a __main__"
        )
    return Program(_RUNPY, argv, os.getcwd(), name, module=name)


def run(program: Program, before: Callable[[], None], after: Callable[[], None]) -> int:
    """Run it and return its exit status; an uncaught exception is shown by sys.excepthook, without our frames."""
    main = types.ModuleType("__main__")
    if sys.version_info < (3, 14):
        main.__annotations__ = {}
    main.__dict__.update({"__builtins__": builtins, **program.names})
    _enter(program.argv, program.path)
    sys.modules["__main__"] = main  # never restored: atexit, pickle and multiprocessing need it
    try:
        before()
        try:
            execute(program, main.__dict__)
        finally:
            after()
    except SystemExit as request:
        return _status(request.code)
    except BaseException as error:
        _show(error, program.code)
        return INTERRUPTED if isinstance(error, KeyboardInterrupt) else 1
    return 0


def remember_interrupt() -> None:
    """Let Python still die by the signal, as after any uncaught KeyboardInterrupt.

    The surprise: it forgets that as soon as a text is executed, and dataclasses do that when their module is imported.
    """
    with contextlib.suppress(KeyboardInterrupt):
        exec("raise KeyboardInterrupt")


def execute(program: Program, names: dict[str, Any]) -> None:
    """Where the program's stack begins."""
    if program.module is None:
        exec(program.code, names)
    else:
        runpy._run_module_as_main(program.module, alter_argv=program.module != "__main__")  # type: ignore[attr-defined]


def _enter(argv: tuple[str, ...], path: str) -> None:
    sys.argv = list(argv)
    if not getattr(sys.flags, "safe_path", False):
        sys.path[0] = path


def _compile(source: bytes, name: str) -> CodeType:
    """Compile; a syntax error is shown as Python would and is the program's own failure, status 1."""
    try:
        return compile(source, name, "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        sys.excepthook(type(error), error.with_traceback(None), None)
        sys.exit(1)


def _exists(name: str) -> bool:
    """Whether runpy will find it. What fails inside it or its packages is the program's own failure, shown later."""
    try:
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.submodule_search_locations is not None:
            return importlib.util.find_spec(f"{name}.__main__") is not None
    except ModuleNotFoundError as error:
        return not f"{name}.__main__".startswith(f"{error.name}.")
    except Exception:
        return True
    return spec is not None


def _status(code: object) -> int:
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 0xFF
    print(code, file=sys.stderr)
    return 1


def _show(error: BaseException, code: CodeType) -> None:
    """Let sys.excepthook show an uncaught exception, from the program's first frame on."""
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_frame.f_code is not code:
        traceback = traceback.tb_next
    clean(error.with_traceback(traceback))
    sys.last_type, sys.last_value, sys.last_traceback = type(error), error, error.__traceback__
    sys.excepthook(type(error), error, error.__traceback__)
