"""Sees custom Functions being called: that a call begins, and from which frames its class and arguments can be read.

The surprise: torch looks an attribute of the class up as the first thing that `Function.apply` does, before it turns
gradients off, so a property of its name on the metaclass sees every call without a frame in anyone's traceback. The
arguments are in the frame of `apply` where that is written in Python; from torch 2.14 on it is C++, and they are in the
frame of the forward.
"""

from __future__ import annotations

import inspect
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import CodeType, FrameType, TracebackType
from typing import Any

import torch

from gradscope.torch_internals.dynamo import skip_methods

_METACLASS: Any = type(torch.autograd.Function)
_REMEMBERED = 256  # running forwards whose arguments are known as they were given
_APPLY: CodeType | None = getattr(getattr(torch.autograd.Function.apply, "__func__", None), "__code__", None)
_ROUTED: Any = getattr(
    torch.autograd.function, "_call_custom_function_call", None
)  # where transforms run, from 2.14 on

Begins = Callable[[Any, FrameType], None]  # is told of the class, and of the frame that calls


@dataclass(frozen=True, slots=True)
class Application:
    """A running call of a custom Function. `given` are the identities of its arguments at the call, which the forward
    may have replaced since in `arguments`."""

    function: Any
    arguments: tuple[Any, ...]
    given: frozenset[int]


class _Property:
    """Stands for an attribute on the metaclass; classes keep their own in their dicts."""

    def __init__(self, name: str, begins: Begins) -> None:
        self._name, self._begins = name, begins

    def __get__(self, cls: Any, metaclass: Any = None) -> Any:
        for one in cls.__mro__:
            if self._name in vars(one):
                if cls.__module__ != "torch.autograd.function":  # else it is compared with what cls inherits
                    self._begins(cls, sys._getframe(1))
                found = vars(one)[self._name]
                return found.__get__(None, cls) if hasattr(type(found), "__get__") else found
        raise AttributeError(self._name)

    def __set__(self, cls: Any, value: Any) -> None:
        delattr(_METACLASS, self._name)
        try:
            setattr(cls, self._name, value)
        finally:
            setattr(_METACLASS, self._name, self)


class FunctionCalls:
    """Where custom Functions are called: frames are told apart by their code."""

    looked_up = ""  # what torch asks the class for when a call begins

    def __init__(self) -> None:
        self._begins: Begins = _nobody_asks

    @contextmanager
    def watched(self, begins: Begins) -> Iterator[FunctionCalls]:
        """Have `begins` told of each call for a while."""
        for one in (_Property, FunctionCalls, type(self)):
            skip_methods(one)
        self._begins = begins
        setattr(_METACLASS, self.looked_up, _Property(self.looked_up, self._begin))
        try:
            yield self
        finally:
            self._begins = _nobody_asks
            if isinstance(vars(_METACLASS).get(self.looked_up), _Property):
                delattr(_METACLASS, self.looked_up)

    def _begin(self, function: Any, frame: FrameType) -> None:
        self._begins(function, frame)

    def is_forward(self, code: CodeType) -> bool:
        """Whether the arguments of a call are those of the frame that runs this code: `entered` wants to see it."""
        return False

    def entered(self, frame: FrameType) -> Application | None:
        """Such a frame has been met for the first time."""
        return None

    def of(self, frame: FrameType) -> Application | None:
        """The call that a frame stands for, None for other frames."""
        raise NotImplementedError

    def failed(self, link: TracebackType) -> Any:
        """The class whose call has raised without a frame of its own, at the innermost link of a traceback."""
        return None


class AppliesInPython(FunctionCalls):
    """Below torch 2.14 `Function.apply` is a function in Python."""

    looked_up = "_backward_cls"

    def of(self, frame: FrameType) -> Application | None:
        """The frame of `apply`."""
        if frame.f_code is not _APPLY:
            return None
        arguments = frame.f_locals["args"]
        return Application(frame.f_locals["cls"], arguments, frozenset(map(id, arguments)))


class AppliesInCpp(FunctionCalls):
    """From torch 2.14 on the frame of the forward stands for the call, and the way to torch.func's own."""

    looked_up = "setup_context"

    def __init__(self) -> None:
        super().__init__()
        self._latest = _Latest()
        self._forwards: dict[int, tuple[CodeType, Any]] = {}  # by the identity of the code
        self._entered: dict[int, tuple[CodeType, tuple[Any, frozenset[int]]]] = {}  # by the identity of the frame

    def _begin(self, function: Any, frame: FrameType) -> None:
        code = getattr(inspect.unwrap(function.forward), "__code__", None)
        if code is not None:
            self._forwards[id(code)] = code, function  # of classes that share a forward, the one that runs next
        self._latest.call = id(frame), frame.f_lasti, function
        super()._begin(function, frame)

    def is_forward(self, code: CodeType) -> bool:
        """Whether it is the code of a forward that has been called."""
        return id(code) in self._forwards

    def entered(self, frame: FrameType) -> Application | None:
        """Remember what the forward was given: it may use the names of its arguments for something else."""
        found = self._read(frame)
        if found is not None:
            while len(self._entered) >= _REMEMBERED:
                del self._entered[next(iter(self._entered))]
            self._entered[id(frame)] = frame.f_code, (found.function, found.given)
        return found

    def of(self, frame: FrameType) -> Application | None:
        """The frame of a forward, or of the function that hands a call to torch.func."""
        if _ROUTED is not None and frame.f_code is _ROUTED.__code__:
            arguments = frame.f_locals["args"]
            return Application(frame.f_locals["cls"], arguments, frozenset(map(id, arguments)))
        if id(frame.f_code) not in self._forwards:
            return None
        found, known = self._read(frame), self._entered.get(id(frame))
        if found is None or known is None or known[0] is not frame.f_code:
            return found
        function, given = known[1]
        return Application(function, found.arguments, given)

    def failed(self, link: TracebackType) -> Any:
        """The last call that began, if it began where the traceback ends."""
        frame, instruction, function = self._latest.call
        return function if (frame, instruction) == (id(link.tb_frame), link.tb_lasti) else None

    def _read(self, frame: FrameType) -> Application | None:
        code, function = self._forwards[id(frame.f_code)]
        names = frame.f_locals
        count = code.co_argcount + code.co_kwonlyargcount
        values = [names.get(name) for name in code.co_varnames[: code.co_argcount]]
        if code.co_flags & inspect.CO_VARARGS:
            values += names.get(code.co_varnames[count]) or ()
        if isinstance(names, dict):  # below Python 3.13 a copy, which would keep the tensors for as long as the frame
            names.clear()
        known = getattr(type(values[0]), "_forward_cls", None) if values else None
        if known is not None:  # ctx, which knows its class better
            function, values = known, values[1:]
        return Application(function, tuple(values), frozenset(map(id, values)))


class _Latest(threading.local):
    """The last call that began in a thread: the identity of the frame, its instruction, the class."""

    call: tuple[int, int, Any] = (0, -1, None)


def _nobody_asks(function: Any, frame: FrameType) -> None:
    """Nothing is recorded."""


CALLS: FunctionCalls = AppliesInPython() if _APPLY is not None else AppliesInCpp()
