"""Runs a program exactly as `python SCRIPT`, `python -m MODULE` or `python -c CODE` would."""

from __future__ import annotations

import builtins
import importlib.machinery
import importlib.util
import io
import os
import sys
import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import CodeType, TracebackType
from typing import Any

from gradscope.errors import UsageError


@dataclass(frozen=True, slots=True)
class Program:
    """A program to run: its code, what `__main__` is to hold, its argv and its first sys.path entry."""

    code: CodeType
    names: dict[str, Any]
    argv: tuple[str, ...]
    path: str
    title: str


def script(file: str, arguments: Sequence[str]) -> Program:
    """`python FILE ARGUMENTS`. Raises UsageError when the file is missing; its own syntax errors are the program's."""
    full = os.path.abspath(file)
    if os.path.isdir(full):
        full, package = os.path.join(full, "__main__.py"), full
    else:
        package = os.path.dirname(os.path.realpath(full))
    if not os.path.isfile(full):
        raise UsageError(f"there is no script {file}", "gradscope trace [OPTIONS] SCRIPT ARGS...; use -m for a module")
    try:
        with io.open_code(full) as stream:
            source = stream.read()
    except OSError as error:
        raise UsageError(f"cannot read {file}: {error.strerror}", "check its permissions") from None
    names = {"__file__": full, "__loader__": importlib.machinery.SourceFileLoader("__main__", full), "__spec__": None, "__package__": None}
    title = os.path.splitext(os.path.basename(file.rstrip(os.sep)))[0]
    return Program(_compile(source, full), {**names, "__cached__": None}, (file, *arguments), package, title)


def command(code: str, arguments: Sequence[str]) -> Program:
    """`python -c CODE ARGUMENTS`."""
    loader = importlib.machinery.BuiltinImporter
    names = {"__loader__": loader, "__spec__": None, "__package__": None}
    return Program(_compile(code.encode(), "<string>"), names, ("-c", *arguments), "", "command")


def module(name: str, arguments: Sequence[str]) -> Program:
    """`python -m NAME ARGUMENTS`."""
    sys.path[0] = os.getcwd()
    spec = _find(name)
    if spec is not None and spec.submodule_search_locations is not None:
        spec = _find(f"{name}.__main__")
    if spec is None or spec.loader is None:
        raise UsageError(f"there is no module {name} to run", "the working directory is importable; a package needs a __main__")
    code = spec.loader.get_code(spec.name)  # type: ignore[attr-defined]
    if code is None:
        raise UsageError(f"module {name} has no Python code to run")
    names = {"__file__": spec.origin, "__loader__": spec.loader, "__spec__": spec, "__cached__": spec.cached, "__package__": spec.parent}
    return Program(code, names, (spec.origin or name, *arguments), os.getcwd(), name)


def run(program: Program, before: Callable[[], None], after: Callable[[], None]) -> int:
    """Run it and return its exit status; an uncaught exception is shown by sys.excepthook, without our frames."""
    main = types.ModuleType("__main__")
    main.__dict__.update(program.names, __builtins__=builtins)
    sys.argv = list(program.argv)
    sys.path[0] = program.path
    sys.modules["__main__"] = main  # never restored: atexit, pickle and multiprocessing need it
    try:
        before()
        try:
            execute(program.code, main.__dict__)
        finally:
            after()
    except SystemExit as request:
        return _status(request.code)
    except BaseException as error:
        sys.excepthook(type(error), error.with_traceback(_own(error, program.code)), error.__traceback__)
        return 130 if isinstance(error, KeyboardInterrupt) else 1
    return 0


def execute(code: CodeType, names: dict[str, Any]) -> None:
    """Where the program's stack begins."""
    exec(code, names)


def _compile(source: bytes, name: str) -> CodeType:
    """Compile; a syntax error is shown as Python would and is the program's own failure, status 1."""
    try:
        return compile(source, name, "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        sys.excepthook(type(error), error.with_traceback(None), None)
        sys.exit(1)


def _find(name: str) -> importlib.machinery.ModuleSpec | None:
    try:
        return importlib.util.find_spec(name)
    except (ImportError, AttributeError, ValueError):
        return None


def _status(code: object) -> int:
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 0xFF if code >= 0 else code % 256
    print(code, file=sys.stderr)
    return 1


def _own(error: BaseException, code: CodeType) -> TracebackType | None:
    """The traceback from the program's first frame on."""
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_frame.f_code is not code:
        traceback = traceback.tb_next
    return traceback
