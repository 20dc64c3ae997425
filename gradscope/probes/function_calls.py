"""Sees the arguments of custom Functions, so that check-function can make inputs of the same kind.

Torch makes a Function's node before it runs its forward, called from `Function.apply`: the frame that makes the node
holds the arguments.
"""

from __future__ import annotations

import json
import math
from types import FrameType
from typing import Any

import torch
from torch.utils.checkpoint import CheckpointFunction

from gradscope.probes.sink import Sink

APPLY = torch.autograd.Function.apply.__func__.__code__  # type: ignore[attr-defined]
REENTRANT = "reentrant-checkpoint-without-grad"
_MOST = 32  # distinct kinds of calls kept of each Function


class FunctionCalls:
    """Records each kind of call of each Function once: shapes, dtypes, strides, requires_grad and plain values."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._seen: dict[str, set[str]] = {}

    def note(self, frame: FrameType, stack: int) -> None:
        """Note the call that runs in a frame of `Function.apply`, unless the Function is torch's own."""
        cls, arguments = frame.f_locals["cls"], frame.f_locals["args"]
        if cls is CheckpointFunction and torch.is_grad_enabled() and _trains_nothing(arguments):
            self._sink.add("notice", (REENTRANT, stack))
        if cls.__module__.partition(".")[0] == "torch":
            return
        name = f"{cls.__module__}.{cls.__qualname__}"
        seen = self._seen.setdefault(name, set())
        if len(seen) < _MOST:
            text = json.dumps([described(argument) for argument in arguments])
            if text not in seen:
                seen.add(text)
                self._sink.add("function_call", (name, text))


def _trains_nothing(arguments: tuple[Any, ...]) -> bool:
    """Whether a reentrant checkpoint has something to train, and no input that requires grad."""
    function, _, *inputs = arguments
    owner = function if isinstance(function, torch.nn.Module) else getattr(function, "__self__", None)
    if isinstance(owner, torch.nn.Module) and not any(one.requires_grad for one in owner.parameters()):
        return False
    return not any(isinstance(one, torch.Tensor) and one.requires_grad for one in inputs)


def described(argument: Any) -> dict[str, Any]:
    """An argument's kind: a tensor's, or a plain value, or nothing when it is neither."""
    if isinstance(argument, torch.Tensor):
        strided = argument.layout is torch.strided and not argument.is_nested
        return {
            "dtype": str(argument.dtype).removeprefix("torch."),
            "shape": list(argument.shape),
            "strides": list(argument.stride()) if strided else None,
            "requires_grad": argument.requires_grad,
        }
    return {"value": argument} if _is_plain(argument) else {}


def _is_plain(value: Any) -> bool:
    if isinstance(value, (tuple, list)):
        return all(map(_is_plain, value))
    return value is None or type(value) in (bool, int, str) or (type(value) is float and math.isfinite(value))
