"""Sees custom Functions read what a torch.func transform differentiates, though nobody gave it to them as an argument.

The surprise: torch takes tensors out of their transforms before an operator in a forward runs, captured ones as well:
only the names in the forward's code still lead to a tensor as its transform has it.
"""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Iterable
from types import CodeType, FrameType, FunctionType
from typing import Any

import torch
from torch.autograd import forward_ad

from gradscope.probes.core.sink import Sink
from gradscope.probes.core.stacks import Stacks
from gradscope.probes.core.thread_state import Thread
from gradscope.probes.functions.reachable_tensors import reached
from gradscope.probes.graph.function_classes import FunctionClasses, written_by_the_user
from gradscope.signals import let_through
from gradscope.torch_internals.dynamo import skip_methods
from gradscope.torch_internals.find import bound
from gradscope.torch_internals.function_calls import CALLS, Application
from gradscope.torch_internals.guards import no_dispatch, no_function, unprofiled
from gradscope.torch_internals.running import current_level
from gradscope.torch_internals.tensors import innermost, is_wrapped, level_of, unwrapped

_DETACH = "aten.detach.default"
_RULES = ("setup_context", "vmap", "jvp", "backward")
_LOOKS = 3  # how often one line is looked at: steps repeat
_DEEP = 80  # frames from an operator up to the Function that runs it
_ROUTER = bound("torch._functorch.autograd_function.CustomFunctionHigherOrderOperator.__call__", None)
_TO_THE_NEXT_TRANSFORM = getattr(_ROUTER, "__code__", None)  # called in place of a forward
_is_of_grad: Any = bound("torch._C._functorch.is_gradtrackingtensor")
_enter_level: Any = bound("torch._C._functorch._jvp_increment_nesting")
_leave_level: Any = bound("torch._C._functorch._jvp_decrement_nesting")
_set_forward: Any = bound("torch._C._set_fwd_grad_enabled")
_is_forward_on: Any = bound("torch._C._is_fwd_grad_enabled")
_keys: Any = bound("torch._C._ForceDispatchKeyGuard")
_every_key: Any = bound("torch._C._dispatch_keyset_full")
_included_keys: Any = bound("torch._C._dispatch_tls_local_include_set")
_unpack: Any = bound("torch._VF._unpack_dual")


class CapturedTensors:
    """Notes each captured tensor once, with its name and the line that reads it."""

    def __init__(self, sink: Sink, stacks: Stacks) -> None:
        self._sink, self._stacks = sink, stacks
        self._functions = FunctionClasses(sink)
        self._looks: Counter[int] = Counter()  # by stack
        self._noted: set[tuple[int, ...]] = set()
        skip_methods(CapturedTensors)

    def look(
        self, thread: Thread, frame: FrameType | None, operands: Iterable[torch.Tensor], results: Iterable[torch.Tensor]
    ) -> None:
        """A frame has run an operator under a transform: note what it read, in a forward, that this was not given.

        Not where nothing is lost: the result is a mask or an index, or the program says detach itself.
        """
        frames, call = _up_to_the_call(frame)
        if call is None or not any(map(_is_number, results)) or thread.operator == self._sink.string(_DETACH):
            return
        stack, function = self._stacks.take(frames[0], thread.base), written_by_the_user(call.function)
        if self._looks[stack] == _LOOKS or function.__module__.partition(".")[0] == "torch":
            return
        self._looks[stack] += 1
        if not _rules_of(function).isdisjoint(one.f_code for one in frames):
            return  # what a rule such as vmap reads are its own arguments
        read = {id(one) for one in operands} - call.given
        for name, tensor in reached(frames, function.forward, call.arguments) if read else ():
            if _is_differentiated(tensor) and id(innermost(tensor)) in read:
                self._note(function, name, stack)

    def _note(self, function: Any, name: str, stack: int) -> None:
        row = (self._functions.of_class(function), self._sink.string(name), stack)
        if row not in self._noted:
            self._noted.add(row)
            self._sink.add("captured", row)


def _rules_of(function: Any) -> set[CodeType]:
    """The code of what torch calls of a Function beside its forward."""
    rules = (inspect.getattr_static(function, name) for name in _RULES)
    return {
        one.__func__.__code__
        for one in rules
        if isinstance(one, staticmethod) and isinstance(one.__func__, FunctionType)
    }


def _up_to_the_call(frame: FrameType | None) -> tuple[list[FrameType], Application | None]:
    """The frames up to the call of the custom Function whose forward runs the first one; none outside of a forward."""
    found: list[FrameType] = []
    while frame is not None and len(found) < _DEEP:
        call = CALLS.of(frame)
        if call is not None:
            if CALLS.is_forward(frame.f_code):
                return [*found, frame], call
            first = found[-1].f_code if found else None
            return (found, call) if first not in (None, _TO_THE_NEXT_TRANSFORM) else ([], None)
        found.append(frame)
        frame = frame.f_back
    return [], None


def _is_number(tensor: torch.Tensor) -> bool:
    return tensor.is_floating_point() or tensor.is_complex()


def _is_differentiated(tensor: torch.Tensor) -> bool:
    """Whether a transform that runs computes the tensor's gradient, at any of its levels."""
    while is_wrapped(tensor):
        inside = _is_of_grad(tensor) and level_of(tensor) > 0
        if inside and (tensor.requires_grad or (forward_ad._current_level >= 0 and _has_tangent(tensor))):
            return True
        tensor = unwrapped(tensor)
    return False


def _as_outside_of_operators() -> Any:
    """Have torch dispatch as where the program calls it: an operator runs with what came before it left out."""
    every = _every_key()
    return _keys(_included_keys(), every - every)


def _has_tangent(tensor: torch.Tensor) -> bool:
    """Whether jvp computes a tangent of it, too.

    Torch tells only at the tensor's level, which it has left to run the forward: as many levels as are missing are
    entered for the question. What they do to a tensor does not matter, because the answer is no tensor.
    """
    forward, entered = _is_forward_on(), 0
    try:
        with unprofiled(), no_dispatch(), no_function(), _as_outside_of_operators():
            while (current_level() or 0) < level_of(tensor):
                _enter_level()
                entered += 1
            _set_forward(True)
            return _unpack(tensor, level=forward_ad._current_level)[1] is not None
    except RuntimeError as error:  # a level between is another transform's
        let_through(error)
        return False
    finally:
        _set_forward(forward)
        for _ in range(entered):
            _leave_level()
