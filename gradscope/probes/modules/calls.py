"""Sees module calls. Global module hooks would do, but they send torch down its slow path and add a frame to every
traceback; instead `Module.__call__` gets a code object with the same lines and columns, and two calls around it.
"""

from __future__ import annotations

import itertools
import sys
import weakref
from types import FrameType, FunctionType

import torch
from torch.nn.modules import module as torch_module

from gradscope.model.notice import FROZEN_IN_NAME, THAWED_IN_NAME
from gradscope.probes.core.context import Context
from gradscope.probes.core.module_call import RunningModuleCall
from gradscope.torch_internals.dynamo import skip_methods
from gradscope.torch_internals.find import bound
from gradscope.torch_internals.instrumented import around, call_instruction

_LOOKS = 8  # calls of a module with an attribute requires_grad
_ENTER, _LEAVE, _CALL = "_gradscope_enter", "_gradscope_leave", "_gradscope_call"


class ModuleCalls:
    """Keeps `Thread.call` and `Thread.base` while modules run."""

    def __init__(self, context: Context) -> None:
        self._sink, self._threads, self._stacks = context.sink, context.threads, context.stacks
        self._names, self._faults = context.names, context.faults
        self._serials, self._modules = itertools.count(1), itertools.count(1)
        self._places: dict[tuple[int, str, str, int], int] = {}
        self._insides: dict[int, int] = {}  # the base behind a call, by the stack of its caller
        self._known: dict[int, Known] = {}
        self._target: FunctionType = bound("torch.nn.Module._wrapped_call_impl")
        self._code = self._original = self._target.__code__
        self._place = call_instruction(self._original)
        self._model_called = context.events.model_called
        context.faults.switch("modules", self._switch_off)

    def __enter__(self) -> ModuleCalls:
        skip_methods(ModuleCalls)
        setattr(torch_module, _ENTER, self.enter)
        setattr(torch_module, _LEAVE, self.leave)
        try:
            self._code = around(self._target, _ENTER, _LEAVE, _CALL)
        except (OSError, SyntaxError, LookupError) as error:  # torch without its sources: no module calls then
            self._faults.note("modules", error)
        else:
            self._target.__code__ = self._code
            self._stacks.anchors.add(id(self._code))
        return self

    def __exit__(self, *error: object) -> None:
        self._target.__code__ = self._original
        delattr(torch_module, _ENTER)
        delattr(torch_module, _LEAVE)

    def enter(self, module: torch.nn.Module) -> RunningModuleCall | None:
        """A module is about to run. Returns what `leave` needs, None after a fault."""
        thread = self._threads.current
        try:
            outer, base = thread.call, thread.base
            known = self._describe(module, outer)
            if "requires_grad" in module.__dict__ and known.looks < _LOOKS:
                self._look_at_switch(module, known, sys._getframe(2))
            path, module_class = ("" if outer is None else known.inner or ""), known.module_class
            stack = self._stacks.take(sys._getframe(2), base)
            inside = self._insides.get(stack) or self._inside(stack)
            if outer is None:
                position = thread.roots
                thread.roots += 1
            else:
                position = outer.children
                outer.children += 1
            key = (0, path, module_class, 0) if outer is None else (outer.place, path, module_class, position)
            place = self._places.setdefault(key, len(self._places) + 1)
            call = RunningModuleCall(
                path, module_class, outer, position, next(self._serials), base, place, known.number
            )
            if outer is None:
                for told in self._model_called:
                    told(module, sys._getframe(2))
            thread.base, thread.call = inside, call  # last and together: a signal handler may raise before, not between
            return call
        except Exception as error:
            self._faults.note("modules", error)
            return None

    def _look_at_switch(self, module: torch.nn.Module, known: Known, frame: FrameType) -> None:
        """`layer.requires_grad = False` gives the module an attribute, and leaves its parameters as they are."""
        known.looks += 1  # a module may have such a setting of its own, and be frozen: that is not asked for ever
        says = module.__dict__["requires_grad"]
        if not isinstance(says, bool) or not torch.is_grad_enabled():
            return
        trained = [one.requires_grad for one in module.parameters()]
        if any(trained) is not says and trained:
            known.looks = _LOOKS
            what = THAWED_IN_NAME if says else FROZEN_IN_NAME
            self._sink.add("notice", (what, self._stacks.take(frame, self._threads.current.base)))

    def leave(self, call: RunningModuleCall | None) -> None:
        """A module has returned or raised: back to where it was called, even where one inside it was not left."""
        if call is not None:
            thread = self._threads.current
            thread.base, thread.call = call.base, call.parent

    def _inside(self, stack: int) -> int:
        inside = self._insides[stack] = self._stacks.push(stack, self._original, self._place)
        return inside

    def _switch_off(self) -> None:
        self._target.__code__ = self._original

    def _describe(self, module: torch.nn.Module, outer: RunningModuleCall | None) -> Known:
        known = self._known.get(id(module))
        if known is None or known.module() is not module:
            known = self._known[id(module)] = Known(module, next(self._modules))
        if outer is None:
            if known.root is None:
                for name, other in self._names.learn(module) or ():
                    self._sink.add("second_name", (self._sink.string(other), self._sink.string(name)))
                known.root = ""
        elif known.inner is None:  # one that is not registered under the module that runs is named by that module
            known.inner = self._names.path(module) or f"{outer.path}.{known.module_class}".lstrip(".")
        return known


class Known:
    """What is known of a module: its number, its class, its path as an outermost and as an inner module."""

    __slots__ = ("inner", "looks", "module", "module_class", "number", "root")

    def __init__(self, module: torch.nn.Module, number: int) -> None:
        self.module = weakref.ref(module)
        self.number = number
        self.module_class = type(module).__name__
        self.root: str | None = None
        self.inner: str | None = None
        self.looks = 0  # at an attribute by which nothing is frozen
