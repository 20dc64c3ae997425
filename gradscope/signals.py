"""Tells what the program's signal handlers raise from faults of our own.

Python runs a handler between any two instructions of the main thread, so it may strike inside our code, in the middle
of a `try`. What it raises is for the program, and must go through every `except` of ours.
"""

from __future__ import annotations

import itertools
import os
import signal
from collections.abc import Iterator
from types import CodeType, FrameType
from typing import Any

_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_RAISED_HERE = ("builtins", "torch", "gradscope", "sqlite3", "json", "zlib")  # where classes of our faults are from


def let_through(error: BaseException) -> None:
    """Raise an exception again when it is not ours to handle."""
    if is_the_programs(error):
        raise error


def attribute(thing: Any, name: str, default: Any = None) -> Any:
    """`getattr` for what Python code may answer: a property's AttributeError may be a handler's."""
    try:
        return getattr(thing, name)
    except AttributeError as error:
        let_through(error)
        return default


def is_the_programs(error: BaseException) -> bool:
    """Whether a signal handler raised it while our code ran, or another thread threw it into our code.

    A handler is called with the signal's number and the interrupted frame; it is also known by its registration.
    """
    if not isinstance(error, Exception):
        return True
    traceback, caller = error.__traceback__, None
    registered = None
    while traceback is not None:
        frame = traceback.tb_frame
        if caller is not None and not frame.f_code.co_filename.startswith(_HERE):
            registered = set(_registered()) if registered is None else registered
            if frame.f_code in registered or _is_called_with(frame, caller):
                return True
        traceback, caller = traceback.tb_next, frame
    return caller is not None and _is_thrown_in(error, caller)


def _is_called_with(frame: FrameType, caller: FrameType) -> bool:
    """Whether the frame has got its caller as an argument, after a number."""
    code, values = frame.f_code, frame.f_locals
    count = code.co_argcount
    arguments = [values.get(name) for name in code.co_varnames[:count]]
    if code.co_flags & 0x04:  # *arguments
        arguments += values.get(code.co_varnames[count + code.co_kwonlyargcount]) or ()
    return any(isinstance(number, int) and one is caller for number, one in itertools.pairwise(arguments))


def _registered() -> Iterator[CodeType]:
    """The code of every handler that is registered now."""
    for number in signal.valid_signals():
        handler: Any = signal.getsignal(number)
        handler = getattr(handler, "func", handler)  # a partial
        handler = getattr(handler, "__func__", handler)  # a method
        for one in (handler, vars(type(handler)).get("__call__")):
            code = getattr(one, "__code__", None)
            if code is not None:
                yield code


def _is_thrown_in(error: Exception, innermost: FrameType) -> bool:
    """PyThreadState_SetAsyncExc, as some timeouts use it: our own line raises a class that is none of ours."""
    ours = innermost.f_code.co_filename.startswith(_HERE)
    return ours and type(error).__module__.partition(".")[0] not in _RAISED_HERE
