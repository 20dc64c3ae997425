"""Sees the arguments of custom Functions, so that check-function can make inputs of the same kind."""

from __future__ import annotations

import json
import math
from types import FrameType
from typing import Any

import torch
from torch.utils.checkpoint import CheckpointFunction

from gradscope.model.notice import FORGETS_CHANCE
from gradscope.probes.core.context import Context
from gradscope.torch_internals.dynamo import is_traced, skip_methods
from gradscope.torch_internals.function_calls import CALLS, Application

REENTRANT = "reentrant-checkpoint-without-grad"
_MOST = 32  # distinct kinds of calls kept of each Function
_REMEMBERED = 256  # checkpoints that began and have run no operator yet


class FunctionArguments:
    """Records each kind of call of each Function once: shapes, dtypes, strides, requires_grad and plain values."""

    def __init__(self, context: Context) -> None:
        self._sink, self._threads, self._stacks = context.sink, context.threads, context.stacks
        self._steps, self._faults = context.steps, context.faults
        self._seen: dict[str, set[str]] = {}
        self._begun: dict[int, int] = {}  # by the identity of the frame that calls: the stack of a reentrant checkpoint
        self._watch = CALLS.watched(self._begins)

    def __enter__(self) -> FunctionArguments:
        skip_methods(FunctionArguments)
        self._stacks.watch(CALLS.is_forward, self._entered)
        self._watch.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._watch.__exit__(None, None, None)

    def _begins(self, function: Any, frame: FrameType) -> None:
        """A call begins; where its frame has the arguments, they are noted at once."""
        if not self._steps.recorded or self._threads.current.busy or is_traced():
            return
        try:
            stack = 0
            if function is CheckpointFunction and torch.is_grad_enabled():
                stack = self._stacks.take(frame, self._threads.current.base)
            application = CALLS.of(frame)
            if application is not None and application.function is function:
                self._note(application, stack)
            elif function is CheckpointFunction:
                while len(self._begun) >= _REMEMBERED:
                    del self._begun[next(iter(self._begun))]
                self._begun[id(frame)] = stack
        except Exception as error:
            self._faults.note("custom Functions", error)

    def _entered(self, frame: FrameType) -> None:
        """The first operator of a forward is about to run."""
        try:
            application = CALLS.entered(frame)
            if application is not None:
                self._note(application, self._begun.pop(id(frame.f_back), 0))
        except Exception as error:
            self._faults.note("custom Functions", error)

    def _note(self, application: Application, checkpoint: int) -> None:
        """Note a call, unless the Function is torch's own; `checkpoint` is the stack of one that keeps gradients."""
        cls, arguments = application.function, application.arguments
        if checkpoint and _trains_nothing(arguments):
            self._sink.add("notice", (REENTRANT, checkpoint))
        if checkpoint and arguments[1] is False:
            self._sink.add("notice", (FORGETS_CHANCE, checkpoint))
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
