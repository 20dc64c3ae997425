"""Sees custom Functions read what a torch.func transform differentiates, though nobody gave it to them as an argument.

The surprise: torch takes tensors out of their transforms before an operator in a forward runs, captured ones as well:
only the names in the forward's code still lead to a tensor as its transform has it.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable
from types import FrameType
from typing import Any

import torch
from torch._functorch.autograd_function import CustomFunctionHigherOrderOperator
from torch.autograd import forward_ad

from gradscope.probes.dynamo import skip_methods
from gradscope.probes.function_calls import APPLY
from gradscope.probes.functions import Functions, written_by_the_user
from gradscope.probes.guards import no_dispatch, no_function
from gradscope.probes.reach import reached
from gradscope.probes.sink import Sink
from gradscope.probes.stacks import Stacks
from gradscope.probes.threads import Thread
from gradscope.probes.transforms import level_of
from gradscope.signals import let_through

_DETACH = "aten.detach.default"
_LOOKS = 3  # how often one line is looked at: steps repeat
_DEEP = 80  # frames from an operator up to the Function that runs it
_TO_THE_NEXT_TRANSFORM = CustomFunctionHigherOrderOperator.__call__.__code__  # called in place of a forward
_functorch = torch._C._functorch


class Captured:
    """Notes each captured tensor once, with its name and the line that reads it."""

    def __init__(self, sink: Sink, stacks: Stacks) -> None:
        self._sink, self._stacks = sink, stacks
        self._functions = Functions(sink)
        self._looks: Counter[int] = Counter()  # by stack
        self._noted: set[tuple[int, ...]] = set()
        skip_methods(Captured)

    def look(self, thread: Thread, operands: Iterable[torch.Tensor], results: Iterable[torch.Tensor]) -> None:
        """An operator has run under a transform: note what it read, in a forward, that the forward was not given.

        Not where nothing is lost: the result is a mask or an index, or the program says detach itself.
        """
        frames = _up_to_apply(sys._getframe(3))
        if not frames or not any(map(_is_number, results)) or thread.operator == self._sink.string(_DETACH):
            return
        apply, stack = frames.pop(), self._stacks.take(frames[0], thread.base)
        function, arguments = written_by_the_user(apply.f_locals["cls"]), apply.f_locals["args"]
        if self._looks[stack] == _LOOKS or function.__module__.partition(".")[0] == "torch":
            return
        self._looks[stack] += 1
        read = {id(one) for one in operands} - {id(one) for one in arguments}
        for name, tensor in reached(frames, function.forward, arguments) if read else ():
            if _is_differentiated(tensor) and id(_value(tensor)) in read:
                self._note(function, name, stack)

    def _note(self, function: Any, name: str, stack: int) -> None:
        row = (self._functions.of_class(function), self._sink.string(name), stack)
        if row not in self._noted:
            self._noted.add(row)
            self._sink.add("captured", row)


def _up_to_apply(frame: FrameType | None) -> list[FrameType]:
    """The frames up to the `Function.apply` whose forward runs the first one; empty outside of a forward."""
    found: list[FrameType] = []
    while frame is not None and len(found) < _DEEP:
        if frame.f_code is APPLY:
            first = found[-1].f_code if found else None
            in_forward = first not in (None, _TO_THE_NEXT_TRANSFORM) and first.co_name != "setup_context"
            return [*found, frame] if in_forward else []
        found.append(frame)
        frame = frame.f_back
    return []


def _is_number(tensor: torch.Tensor) -> bool:
    return tensor.is_floating_point() or tensor.is_complex()


def _is_differentiated(tensor: torch.Tensor) -> bool:
    """Whether a transform that runs computes the tensor's gradient, at any of its levels."""
    while _functorch.is_functorch_wrapped_tensor(tensor):
        inside = _functorch.is_gradtrackingtensor(tensor) and level_of(tensor) > 0
        if inside and (tensor.requires_grad or (forward_ad._current_level >= 0 and _has_tangent(tensor))):
            return True
        tensor = _functorch.get_unwrapped(tensor)
    return False


def _as_outside_of_operators() -> Any:
    """Have torch dispatch as where the program calls it: an operator runs with what came before it left out."""
    every = torch._C._dispatch_keyset_full()
    return torch._C._ForceDispatchKeyGuard(torch._C._dispatch_tls_local_include_set(), every - every)


def _has_tangent(tensor: torch.Tensor) -> bool:
    """Whether jvp computes a tangent of it, too.

    Torch tells only at the tensor's level, which it has left to run the forward: as many levels as are missing are
    entered for the question. What they do to a tensor does not matter, because the answer is no tensor.
    """
    forward, entered = torch._C._is_fwd_grad_enabled(), 0
    try:
        with no_dispatch(), no_function(), _as_outside_of_operators():
            while (_functorch.maybe_current_level() or 0) < level_of(tensor):
                _functorch._jvp_increment_nesting()
                entered += 1
            torch._C._set_fwd_grad_enabled(True)
            return torch._VF._unpack_dual(tensor, level=forward_ad._current_level)[1] is not None
    except RuntimeError as error:  # a level between is another transform's
        let_through(error)
        return False
    finally:
        torch._C._set_fwd_grad_enabled(forward)
        for _ in range(entered):
            _functorch._jvp_decrement_nesting()


def _value(tensor: torch.Tensor) -> torch.Tensor:
    while _functorch.is_functorch_wrapped_tensor(tensor):
        tensor = _functorch.get_unwrapped(tensor)
    return tensor
