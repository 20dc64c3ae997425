"""Sees what is wrong with custom Functions only while they run: inputs that a forward edits, tensors kept on ctx."""

from __future__ import annotations

import sys
from typing import Any

import torch

from gradscope.probes.engine import Call, Watcher
from gradscope.probes.faults import Faults
from gradscope.probes.function_calls import APPLY
from gradscope.probes.functions import Functions
from gradscope.probes.nodes import token_of
from gradscope.probes.sink import Sink
from gradscope.probes.tensors import storage_of
from gradscope.probes.threads import Thread

_DEEP = 40  # frames from an operator up to the Function that runs it


class FunctionEdits:
    """Notes the Functions whose forward writes one of its inputs, each line of theirs once."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._functions = Functions(sink)
        self._noted: set[tuple[int, int]] = set()

    def note(self, tensor: torch.Tensor, storage: int, operator: int, stack: int) -> bool:
        """Whether the write to a tensor that requires grad is a Function's, to one of its inputs."""
        frame: Any = sys._getframe(1)
        for _ in range(_DEEP):
            if frame is None:
                return False
            if frame.f_code is APPLY:
                break
            frame = frame.f_back
        else:
            return False
        cls, inputs = frame.f_locals["cls"], frame.f_locals["args"]
        if not any(one is tensor or storage_of(one)[0] == storage for one in inputs if isinstance(one, torch.Tensor)):
            return False
        if (id(cls), stack) not in self._noted and cls.__module__.partition(".")[0] != "torch":
            self._noted.add((id(cls), stack))
            self._sink.add("input_edit", (self._functions.of_class(cls), operator, stack))
        return True


class Contexts(Watcher):
    """Looks, where a backward is to be differentiated again, for tensors that Functions keep as attributes of ctx."""

    probe = "contexts"

    def __init__(self, sink: Sink, faults: Faults) -> None:
        self._sink, self._faults = sink, faults

    def before(self, call: Call, thread: Thread) -> None:
        """Note the attributes that have no gradient, though they are numbers."""
        if not call.create_graph or call.walked is None:
            return
        try:
            for node in call.live:
                token = token_of(node) if hasattr(type(node), "_forward_cls") else None
                for name, value in vars(node).items() if token is not None else ():
                    numbers = isinstance(value, torch.Tensor) and value.is_floating_point()
                    if numbers and not value.requires_grad and token is not None:
                        place = (call.number, call.walked.numbers[token.uid])
                        self._sink.add("on_context", (*place, self._sink.string(name)))
        except Exception as error:
            self._faults.note(self.probe, error)
