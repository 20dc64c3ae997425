"""Remembers where each module was built, and writes it down for those whose settings are chosen there.

These are torch's own modules, which have no other line of the program's, and all that edit their input in place.
"""

from __future__ import annotations

import functools
import sys
import weakref
from types import FrameType
from typing import Any

import torch

from gradscope.probes.core.backward_call import BackwardCall
from gradscope.probes.core.context import Context
from gradscope.probes.core.probe import Watcher
from gradscope.probes.core.thread_state import Thread
from gradscope.signals import attribute
from gradscope.torch_internals.dynamo import skip

_TORCHS = "torch.nn.modules."
_LOOKS = 3


class ModuleBuilds(Watcher):
    """Sees modules being built. Keeps none alive."""

    probe = "module builds"

    def __init__(self, context: Context) -> None:
        self._sink, self._threads, self._stacks = context.sink, context.threads, context.stacks
        self._names, self._faults = context.names, context.faults
        self._built: dict[int, tuple[weakref.ref[Any], int]] = {}  # not written so far
        self._looks = 0  # backward calls after which to look for the names of what was built last

    def __enter__(self) -> ModuleBuilds:
        self._original = original = torch.nn.Module.__init__

        @functools.wraps(original)
        def build(module: Any, *arguments: Any, **keywords: Any) -> None:
            self._note(module, sys._getframe(1))
            original(module, *arguments, **keywords)

        skip(build)
        torch.nn.Module.__init__ = build  # type: ignore[method-assign, assignment]
        return self

    def __exit__(self, *error: object) -> None:
        torch.nn.Module.__init__ = self._original  # type: ignore[method-assign]
        self.write()

    def _note(self, module: Any, frame: FrameType) -> None:
        if torch.compiler.is_compiling():
            return
        try:
            place: FrameType | None = frame
            while place is not None and _builds(place, module):
                place = place.f_back
            stack = self._stacks.take(place, self._threads.current.base)
            self._built[id(module)] = (weakref.ref(module), stack)
            self._looks = _LOOKS
        except Exception as error:
            self._faults.note(self.probe, error)

    def after(self, call: BackwardCall, thread: Thread) -> None:
        """Modules get their names when they run, and may be gone before the end."""
        if self._looks:
            self._looks -= 1
            self.write()

    def failed(self, call: BackwardCall, error: BaseException) -> None:
        """A backward has raised: how a module was built may be why."""
        self.write()

    def write(self) -> None:
        """Write down the modules that have a name by now."""
        try:
            for identity, (reference, stack) in self._built.copy().items():
                module = reference()
                path = None if module is None else self._names.path(module)
                if path is not None:
                    edits = attribute(module, "inplace") is True
                    if edits or type(module).__module__.startswith(_TORCHS):
                        names = (self._sink.string(path), self._sink.string(type(module).__name__))
                        self._sink.add("declaration", (*names, stack, edits))
                if module is None or path is not None:
                    self._built.pop(identity, None)
        except Exception as error:
            self._faults.note(self.probe, error)


def _builds(frame: FrameType, module: Any) -> bool:
    """Whether a frame is the module's own `__init__`, or that of a base class."""
    code = frame.f_code
    return code.co_name == "__init__" and code.co_argcount > 0 and frame.f_locals.get(code.co_varnames[0]) is module
