"""Sees custom Functions whose forward writes into one of its inputs, while it runs."""

from __future__ import annotations

import sys
from typing import Any

import torch

from gradscope.probes.core.sink import Sink
from gradscope.probes.graph.function_classes import FunctionClasses
from gradscope.probes.tensors.layout import layout_of, meet
from gradscope.probes.tensors.metadata import storage_of
from gradscope.torch_internals.function_calls import CALLS, Application

_DEEP = 40  # frames from an operator up to the Function that runs it


class InputWrites:
    """Notes the Functions whose forward writes one of its inputs, each line of theirs once."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._functions = FunctionClasses(sink)
        self._noted: set[tuple[int, int]] = set()

    def note(self, tensor: torch.Tensor, storage: int, operator: int, stack: int) -> bool:
        """Whether the write to a tensor that requires grad is a Function's, to one of its inputs."""
        frame: Any = sys._getframe(1)
        call = None
        for _ in range(_DEEP):
            if frame is None or (call := CALLS.of(frame)) is not None:
                break
            frame = frame.f_back
        if call is None or not _is_given(call, tensor, storage):
            return False
        cls = call.function
        if (id(cls), stack) not in self._noted and cls.__module__.partition(".")[0] != "torch":
            self._noted.add((id(cls), stack))
            self._sink.add("input_edit", (self._functions.of_class(cls), operator, stack))
        return True


def _is_given(call: Application, tensor: torch.Tensor, storage: int) -> bool:
    """Whether a tensor is an argument of a call, or shares elements with one."""
    if id(tensor) in call.given:
        return True
    tensors = (one for one in call.arguments if isinstance(one, torch.Tensor))
    beside = [layout_of(one) for one in tensors if storage_of(one)[0] == storage]
    written = layout_of(tensor) if beside else None
    return written is not None and any(one is not None and meet(written, one) for one in beside)
