"""Hears the calls by which programs train: zero_grad, clipping, modes, scalers, state_dicts, hooks, steps, forwards.

They are kept thread by thread until its next backward begins. Loops repeat them, so a sequence is stored once.
"""

from __future__ import annotations

import inspect
import itertools
import sys
from array import array
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from types import CodeType, FunctionType
from typing import Any

import torch

from gradscope.model.training import (
    ASSIGN,
    AUTOCAST,
    CLIP,
    EVAL,
    FORWARD,
    FREEZE,
    GAP,
    LEARN,
    ONE_MEMORY,
    PARTED,
    SCALED_STEP,
    STEP,
    TRAIN,
    UNHOOK,
    UNSCALE,
    CallKind,
)
from gradscope.probes.core.backward_call import BackwardCall
from gradscope.probes.core.context import Context
from gradscope.probes.core.digest import digest
from gradscope.probes.core.optimizer_numbers import OptimizerNumbers
from gradscope.probes.core.probe import Watcher
from gradscope.probes.core.sink import store
from gradscope.probes.core.thread_state import Thread
from gradscope.probes.nonfinite.host import NonfiniteOnHost
from gradscope.probes.tensors.accelerators import is_capturing, is_far
from gradscope.probes.tensors.value_samples import is_plain
from gradscope.probes.training.before_updates import BeforeUpdates
from gradscope.probes.training.described import HEARD, Said, counted
from gradscope.probes.training.one_memory import OneMemory
from gradscope.probes.training.shared_parameters import SharedParameters
from gradscope.probes.training.wrapped_modules import WrappedModules
from gradscope.signals import attribute
from gradscope.torch_internals.dynamo import skip, skip_methods
from gradscope.torch_internals.find import find
from gradscope.torch_internals.guards import no_autograd, no_dispatch, no_function, unprofiled
from gradscope.torch_internals.instrumented import at_entry

_NOTE, _COMPILING = "_gradscope_note", "_gradscope_compiling"
_MOST = 512  # calls of one interval
_REPEATED = (FORWARD, AUTOCAST)  # in loops over models or batches, and in backward calls
_ONCE_A_LINE = (LEARN, FREEZE, UNHOOK)  # in loops over a model's modules: the first of a loop stands for all
_LAST = 6  # among which these are not written again
_OF_A_MODEL = (TRAIN, EVAL, FORWARD)  # its modes: what a wrapper wraps goes by the name of the wrapper
_OF_GRADIENTS = (CLIP, UNSCALE)  # in a pre-hook of an optimizer they come before the step that uses them
_STACK = 3  # its place in a row
_MODE = "mode"  # of train(): whether it is to be training mode
_INSIDE = 3  # frames behind a function of torch's in which it may be called by itself
_TORCHS = "torch."


class TrainingCalls(Watcher):
    """Notes each call with its line, and writes those of an interval when a backward ends it."""

    probe = "training calls"

    def __init__(self, context: Context) -> None:
        self._sink, self._threads, self._stacks = context.sink, context.threads, context.stacks
        self._names, self._faults, self._steps = context.names, context.faults, context.steps
        self._optimizers, self._on_device = context.get(OptimizerNumbers), context.get(NonfiniteOnHost).on_device
        self._calls: dict[int, list[tuple[int, ...]]] = defaultdict(list)  # by thread
        self._last: dict[int, int] = {}  # backward calls, by thread
        self._keys: dict[int, tuple[list[tuple[int, ...]], bytes]] = {}  # of the last interval, by thread
        self._kinds: dict[CallKind, int] = {}
        self._runs = itertools.count(1)
        self._was_last = False  # a window's last step had ended: what was heard since is its update
        self._shared, self._wrapped, self._over_one = SharedParameters(), WrappedModules(), OneMemory()
        self._updates = BeforeUpdates()
        self._undo: list[Callable[[], None]] = []
        context.events.step_begins.append(self._begins)
        context.events.optimizer_steps.append(self._step)
        context.events.optimizer_stepped.append(self._stepped)
        context.events.model_called.append(self._forward)

    def __enter__(self) -> TrainingCalls:
        skip_methods(TrainingCalls)
        for name, describe in HEARD.items():
            function = inspect.unwrap(find(name))
            if isinstance(function, FunctionType) and function.__module__.startswith(_TORCHS):  # else the program's own
                self._hear(function, describe)
        return self

    def __exit__(self, *error: object) -> None:
        while self._undo:
            self._undo.pop()()
        for thread in list(self._calls):
            self._end(thread, None)

    def _hear(self, function: FunctionType, describe: Callable[[dict[str, Any]], Said | None]) -> None:
        original, name = function.__code__, f"{_NOTE}_{function.__qualname__.replace('.', '_')}"
        code = at_entry(function, name, _COMPILING)

        def note(**values: Any) -> None:
            if not self._threads.current.busy and not _is_inside(sys._getframe(2), code, values):
                self._note(describe, values, sys._getframe(2))

        skip(note)
        for known, value in ((name, note), (_COMPILING, torch.compiler.is_compiling)):
            function.__globals__[known] = value
            self._undo.append(partial(function.__globals__.pop, known, None))
        self._undo.append(partial(setattr, function, "__code__", original))
        function.__code__ = code

    def _note(self, describe: Callable[[dict[str, Any]], Said | None], values: dict[str, Any], frame: Any) -> None:
        try:
            with no_function():
                said = describe(values)
                if said is not None:
                    stack = self._add(said, frame)
                    if said.kind is SCALED_STEP:
                        self._note_scale(values["self"])
                    elif said.kind is ASSIGN:
                        self._shared.loads(values["self"], stack)
        except Exception as error:
            self._faults.note(self.probe, error)

    def _note_scale(self, scaler: Any) -> None:
        """Write down a scaler's factor, when a device has told it."""
        backward, scale = self._last.get(self._threads.current.number), attribute(scaler, "_scale")
        if backward is None or not self._steps.recorded:
            return
        with unprofiled(), no_dispatch(), no_autograd():
            if is_plain(scale):
                self._write_scale(backward, [float(scale)])
            elif is_far(scale) and not is_capturing(scale.device):
                self._on_device.ask([(backward, (scale.reshape(()),))], self._write_scale)

    def _write_scale(self, backward: int, scale: list[float]) -> None:
        self._sink.add("scale", (backward, repr(scale[0])))

    def _step(self, optimizer: Any, frame: Any, present: list[bool], froze: bool) -> None:
        if not self._threads.current.busy:
            stack = self._add(counted(STEP, optimizer, present), frame)
            self._updates.begins(self._threads.current.number, optimizer, present)
            if self._steps.recorded:
                self._note_one_memory(optimizer, present, stack)

    def _stepped(self, optimizer: Any) -> None:
        self._updates.ends(self._threads.current.number)

    def _note_one_memory(self, optimizer: Any, present: list[bool], stack: int) -> None:
        number = self._optimizers.of(optimizer)
        for several in self._over_one.of(number, optimizer, present):
            names = self._sink.string(", ".join(self._names.leaf(one) for one in several))
            self._keep(ONE_MEMORY, (number, names, stack, len(several), 0))

    def _forward(self, module: Any, frame: Any) -> None:
        for one in self._shared.parted():
            names = self._sink.string(", ".join(one.names))
            self._keep(PARTED, (0, names, one.stack, one.count, one.total))
        inside = self._wrapped.inside(module, self._name)
        self._add(Said(FORWARD, module, int(inside.training), int(torch.is_grad_enabled())), frame)

    def _add(self, said: Said, frame: Any) -> int:
        """Keep a call, and give its stack."""
        stack = self._stacks.take(frame, self._threads.current.base)
        optimizer = module = 0
        if isinstance(said.of, torch.optim.Optimizer):
            optimizer = self._optimizers.of(said.of)
        elif isinstance(said.of, torch.nn.Module):
            known = self._wrapped.name(said.of) if said.kind in _OF_A_MODEL else None
            module = known or self._name(said.of)
        self._keep(said.kind, (optimizer, module, stack, said.count, said.total))
        return stack

    def _name(self, module: torch.nn.Module) -> int:
        return self._sink.string(self._names.module(module))

    def _keep(self, kind: CallKind, values: tuple[int, ...]) -> None:
        calls = self._calls[self._threads.current.number]  # a thread is known from its first call on, recorded or not
        if not self._steps.recorded:
            return
        if len(calls) >= _MOST:
            calls[:] = [self._gap()]
        name = self._kinds.get(kind)
        if name is None:
            name = self._kinds[kind] = self._sink.string(kind.name)
        row = (name, *values)
        if kind in _ONCE_A_LINE:
            is_new = all((one[0], one[_STACK]) != (name, row[_STACK]) for one in calls[-_LAST:])
        else:
            is_new = kind not in _REPEATED or row not in calls[-_LAST:]
        if is_new:
            calls.insert(self._place(kind, calls), row)

    def _place(self, kind: CallKind, calls: list[tuple[int, ...]]) -> int:
        """Where a call belongs: at the end, but for what a hook does to gradients before its step uses them."""
        steps = self._kinds.get(STEP)
        is_before = kind in _OF_GRADIENTS and self._updates.are_to_come(self._threads.current.number)
        found = (at for at in reversed(range(len(calls))) if is_before and calls[at][0] == steps)
        return next(found, len(calls))

    def _begins(self, recorded: bool) -> None:
        """A step begins: what happens until one is recorded is not known."""
        if not recorded:
            for thread in list(self._calls):
                if self._was_last:
                    self._end(thread, None)
                self._calls[thread] = [self._gap()]
        self._was_last = self._steps.is_last

    def _gap(self) -> tuple[int, ...]:
        return (self._sink.string(GAP.name), 0, 0, 0, 0, 0)

    def before(self, call: BackwardCall, thread: Thread) -> None:
        """A backward ends an interval."""
        if call.outer is None:
            self._end(thread.number, call.number)
            self._last[thread.number] = call.number

    def _end(self, thread: int, backward: int | None) -> None:
        calls = self._calls.pop(thread, [])
        if calls or backward is not None:
            known, key = self._keys.get(thread, ([], b""))
            if not key or known != calls:
                key = digest(array("q", itertools.chain.from_iterable(calls)))
                self._keys[thread] = calls, key  # as the next interval will be
            interval = store(self._sink, "interval", key, partial(self._write, calls))
            self._sink.add("interval_run", (next(self._runs), thread, backward, interval))

    def _write(self, calls: list[tuple[int, ...]], number: int) -> None:
        self._sink.add_all("training_call", ((number, position, *row) for position, row in enumerate(calls)))
        self._sink.add("interval", (number, len(calls)))


def _is_inside(frame: Any, code: CodeType, values: dict[str, Any]) -> bool:
    """Whether a function of torch's was called by itself, as those do that go through a module's modules.

    Not where it is to set another mode: a module whose own train() keeps it, or a layer of it, in evaluation mode.
    """
    for _ in range(_INSIDE):
        if frame is None:
            return False
        if frame.f_code is code:
            return _MODE not in values or bool(frame.f_locals[_MODE]) == bool(values[_MODE])
        frame = frame.f_back
    return False
