"""Runs operators as if from the program's own line, where Python's warnings can tell the difference.

The surprise: from torch 2.15 on an operator that is called from Python gives its warnings to the Python frame that
called it. Where we pass one on that frame would be ours, and a warning's place, its module and whether it has been
shown already would be others. So a function of one line stands there that has the file, the line and the globals of
the program's frame.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from types import FrameType, FunctionType
from typing import Any

import torch

from gradscope.probes.core.stacks import line_of
from gradscope.probes.core.traceback_filter import STAND_IN, is_ours
from gradscope.torch_internals.dispatch_mode import mode_class
from gradscope.torch_internals.dynamo import body_of, skip, skip_methods

Site = Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]


class CallSites(dict[tuple[int, int], Site]):
    """What runs an operator `run(*arguments, **keywords)` from the instruction of a code object, by both."""

    def __init__(self) -> None:
        super().__init__()
        skip_methods(CallSites)
        self._kept: list[Any] = []  # codes whose ids are keys

    def from_the_program(self, run: Any) -> Any:
        """What calls a function of torch as the nearest frame of the program would; the engine's threads have none."""

        def call(*arguments: Any, **keywords: Any) -> Any:
            frame: FrameType | None = sys._getframe(1)
            while frame is not None and is_ours(frame.f_code):
                frame = frame.f_back
            if frame is None:
                return run(*arguments, **keywords)
            return (self.get((id(frame.f_code), frame.f_lasti)) or self._make(frame))(run, arguments, keywords)

        skip(call)
        return call

    def _make(self, frame: FrameType) -> Site:
        code = frame.f_code
        body = _stand_in.__code__.replace(
            co_filename=code.co_filename, co_firstlineno=line_of(code, frame.f_lasti), co_name=STAND_IN
        )
        skip(body)
        self._kept.append(code)
        site = self[id(code), frame.f_lasti] = FunctionType(body, frame.f_globals)
        return site


_stand_in: Site = lambda run, arguments, keywords: run(*arguments, **keywords)  # noqa: E731, all of it in one line


def warns_where_it_is_called() -> bool:
    """Whether an operator's warning goes to the frame that calls it, tried with one that does not fit its result."""

    def dispatch(mode: Any, operator: Any, types: Any, arguments: Any = (), keywords: Any = None) -> Any:
        return body_of(operator)(*arguments, **(keywords or {}))

    with warnings.catch_warnings(record=True) as caught, torch.no_grad(), mode_class(dispatch)():
        warnings.simplefilter("always")
        given = {"torch": torch, "two": torch.zeros(2), "one": torch.zeros(1)}
        before = len(caught)
        eval(compile("torch.add(two, two, out=one)", "<called here>", "eval"), given)
    told = [os.fspath(one.filename) for one in caught[before:]]
    return bool(told) and told[0] != "<called here>"
