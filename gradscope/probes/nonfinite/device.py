"""Sees where NaN and Inf are born on an accelerator, without waiting for it: each look is one small kernel that puts
the largest magnitude of a result into a slot on the device, and the slots are read when a copy of them has come.

What runs on other streams than the one that filled the first slot is not seen, nor is what a graph replays, nor what a
step does after all slots are taken. All that can only hide a birth, or name the first result after it.
"""

from __future__ import annotations

import os
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import partial
from itertools import islice
from typing import Any, Concatenate, ParamSpec, TypeVar

import torch

from gradscope.probes.core.backward_call import BackwardCall
from gradscope.probes.core.context import Context
from gradscope.probes.core.node_token import token_of
from gradscope.probes.core.thread_state import Thread
from gradscope.probes.nonfinite.device_lineage import (
    CLOSE,
    FAILED,
    LEAF,
    LOSS,
    NAMED,
    OPERATOR,
    OUTSIDE,
    OVER,
    SIZE,
    TOLD,
    Lineage,
    Looks,
)
from gradscope.probes.nonfinite.device_readback import SLOTS, Readback
from gradscope.probes.nonfinite.living_origins import LivingOrigins
from gradscope.probes.nonfinite.operator_risk import reads_no_values
from gradscope.probes.nonfinite.origins import NonfiniteOrigin, OriginWriter
from gradscope.probes.tensors import accelerators
from gradscope.probes.tensors.is_leaf import is_leaf
from gradscope.probes.tensors.metadata import storage_of
from gradscope.probes.tensors.value_samples import is_plain, named, several
from gradscope.torch_internals.dynamo import skip, skip_methods
from gradscope.torch_internals.guards import no_autograd, no_dispatch, no_function, no_transforms, unprofiled
from gradscope.torch_internals.running import current_node

_MARGIN = 16  # free slots for what an operator has read and gave

_P = ParamSpec("_P")
_R = TypeVar("_R")
_K = TypeVar("_K")
_I = TypeVar("_I")


def _guarded(
    method: Callable[Concatenate[NonfiniteOnDevice, _P], _R],
) -> Callable[Concatenate[NonfiniteOnDevice, _P], _R | None]:
    """Out of the script's sight, one thread at a time, and a fault is ours alone."""

    def guarded(self: NonfiniteOnDevice, /, *arguments: _P.args, **keywords: _P.kwargs) -> _R | None:
        if self.off:
            return None
        try:
            with self.lock, unprofiled(), no_function(), no_dispatch(), no_autograd(), no_transforms():
                return method(self, *arguments, **keywords)
        except Exception as error:
            self.faults.note(self.probe, error)
            return None

    skip(method, guarded)
    return guarded


class NonfiniteOnDevice:
    """Looks at the results of operators, at losses and at gradients on accelerators."""

    probe = "accelerators"

    def __init__(self, context: Context, origins: OriginWriter, huge: float) -> None:
        """A loss above `huge` sets `lineage.huge`."""
        self._threads, self._stacks, self._names = context.threads, context.stacks, context.names
        self.faults, self._steps = context.faults, context.steps
        self._string, self._huge = context.sink.string, huge
        self.lock = threading.RLock()  # a device's own thread runs operators, and a signal handler may come between
        self.off = False
        self._process = os.getpid()
        self._readbacks: dict[tuple[torch.device, torch.dtype], Readback] = {}
        self._words: dict[str, int] = {"": 0}
        self._looks, self._sent = Looks(1), Looks(1)
        self._made: dict[int, int] = {}  # by the identity of a storage: the last look at it, where they are linked
        self._running: list[BackwardCall] = []
        self.lineage = Lineage(origins, self._leaf, self._text, huge)
        self.faults.switch(self.probe, self._switch_off)
        skip_methods(NonfiniteOnDevice)
        skip_methods(Readback)

    @_guarded
    def look(
        self,
        operator: Any,
        result: torch.Tensor,
        arguments: tuple[Any, ...],
        keywords: dict[str, Any],
        near: LivingOrigins | None,
        frame: Any,
    ) -> None:
        """Have an operator's result measured. `near`: the events on the CPU by storage, None to link nothing."""
        thread = self._threads.current
        readback = self._free_readback(result, _MARGIN) if self._steps.recorded and not thread.busy else None
        if readback is None:
            return
        place = self._operators_place(operator, thread, frame)
        if near is None:
            self._add(place, readback, result, *((OUTSIDE, self._word("self")) if operator.copies else ()))
            return
        flags, name, parents = self._read(operator, arguments, keywords, near, place)
        number = self._add(place, readback, result, flags, name)
        for parent, overwritten in parents:
            self._looks.parents.extend((number, parent, overwritten))
        if len(self._made) < SLOTS:
            self._made[storage_of(result)[0]] = number

    @_guarded
    def look_at_all(self, operator: Any, written: list[torch.Tensor], close: bool, frame: Any) -> None:
        """Have all measured that an operator on lists has written; `close`: others are linked to it."""
        thread = self._threads.current
        for alike in _alike(written[:SLOTS], lambda one: one):
            readback = self._free_readback(alike[0], len(alike))
            if readback is None or thread.busy or not self._steps.recorded:
                continue
            numbers = self._add_all(self._operators_place(operator, thread, frame), readback, alike, [0] * len(alike))
            if close and len(self._made) < SLOTS:
                self._made.update((storage_of(one)[0], number) for number, one in zip(numbers, alike, strict=True))

    def _operators_place(self, operator: Any, thread: Thread, frame: Any) -> tuple[int, ...]:
        """Where an operator runs that was called from a frame of the program, or from none."""
        call = thread.call
        if call is not None:
            self._looks.calls.setdefault(call.serial, call)
        what = (operator.name, self._stacks.take(frame, thread.base), thread.number, 0 if call is None else call.serial)
        return (OPERATOR, *what, *self._node(), self._steps.current)

    def _add(
        self, place: tuple[int, ...], readback: Readback, tensor: torch.Tensor, flags: int = 0, name: int = 0
    ) -> int:
        """Have a tensor measured; the number of the look."""
        number = self._looks.next
        self._looks.numbers.extend((*place, readback.name, flags, name))
        readback.measure(tensor, number)
        return number

    def _add_all(
        self, place: tuple[int, ...], readback: Readback, tensors: list[torch.Tensor], names: list[int]
    ) -> range:
        """Have several measured at once, each with a name; the numbers of the looks."""
        first = self._looks.next
        for name in names:
            self._looks.numbers.extend((*place, readback.name, 0, name))
        readback.measure_all(tensors, range(first, self._looks.next))
        return range(first, self._looks.next)

    def _read(
        self,
        operator: Any,
        arguments: tuple[Any, ...],
        keywords: dict[str, Any],
        near: LivingOrigins,
        place: tuple[int, ...],
    ) -> tuple[int, int, list[tuple[int, bool]]]:
        """Flags, a name, and the looks at what an operator has read: what no look has seen yet gets one."""
        flags, outside, parents = CLOSE, "", []
        written = {name for _, _, name in operator.writes}
        for name, value in named(operator.operator, arguments, keywords):
            if type(value) is float and value - value != 0:
                flags |= TOLD
            for one in several(value):
                if is_plain(one):
                    event = near.of(one)
                    if event is not None:
                        self._looks.near[event.number] = event
                        parents.append((-event.number, name in written))
                    elif name not in written and one.is_floating_point() and not bool(torch.isfinite(one).all()):
                        flags, outside = flags | OUTSIDE, name
                elif accelerators.is_far(one):
                    seen = self._made.get(storage_of(one)[0])
                    if seen is None and name not in written:
                        seen = self._look_at_argument(one, name, place)
                    if seen is not None:
                        parents.append((seen, name in written))
        return flags, self._word(outside), [] if reads_no_values(operator.operator) else parents

    def _look_at_argument(self, tensor: torch.Tensor, name: str, place: tuple[int, ...]) -> int | None:
        readback = self._readback_of(tensor)
        if not readback.takes(2):  # one is for the result
            return None
        flags = CLOSE | OUTSIDE
        if tensor.requires_grad and is_leaf(tensor):
            flags, name = flags | NAMED, self._names.leaf(tensor)
        number = self._add(place, readback, tensor, flags, self._word(name))
        self._made[storage_of(tensor)[0]] = number
        return number

    def _node(self) -> tuple[int, int]:
        """The backward that runs and the node that this thread evaluates in it, -1 for none: a device has a thread."""
        current = current_node() if self._running else None
        token = None if current is None else token_of(current)
        if token is None:
            return -1, -1
        mine = self._threads.tasks.running(self._threads.current)
        for call in reversed(self._running) if mine is None else (mine,):
            number = -1 if call.walked is None else call.walked.numbers.get(token.uid, -1)
            if number >= 0:
                return call.number, number
        return (mine or self._running[-1]).number, -1

    @property
    def awake(self) -> bool:
        """Whether anything was seen on an accelerator so far; if not, there is nothing to do after a backward."""
        return bool(self._readbacks)

    def before(self, call: BackwardCall, looking: bool) -> None:
        """A backward begins: its losses are at hand."""
        self._running.append(call)
        if self._readbacks or any(map(accelerators.is_far, call.outputs)):
            self._begin(call, looking)

    @_guarded
    def _begin(self, call: BackwardCall, looking: bool) -> None:
        if call.outer is None:
            self._receive()
        for output in call.outputs if looking else ():
            readback = self._free_readback(output, 1) if accelerators.is_far(output) else None
            if readback is not None:
                number = self._add(self._place(LOSS, call), readback, output)
                self._descends(number, output)

    @_guarded
    def after(self, call: BackwardCall, failed: bool) -> None:
        """An outermost backward has run: its gradients are at hand, if it ended well."""
        if failed:
            self._mark(FAILED)
        elif self._readbacks and call.accumulate and call.walked is not None:
            variables = ((identity, self._names.tensor(identity)) for identity in call.walked.leaves)
            gradients = [(identity, one.grad) for identity, one in variables if one is not None]
            far = [(identity, gradient) for identity, gradient in gradients if accelerators.is_far(gradient)]
            for alike in _alike(far, lambda one: one[1]):
                self._gradients(call, alike[:SLOTS])

    def _gradients(self, call: BackwardCall, alike: list[tuple[int, torch.Tensor]]) -> None:
        readback = self._free_readback(alike[0][1], len(alike))
        if readback is None:
            return
        leaves, gradients = [identity for identity, _ in alike], [gradient for _, gradient in alike]
        numbers = self._add_all(self._place(LEAF, call), readback, gradients, leaves)
        for number, gradient in zip(numbers, gradients, strict=True):
            self._descends(number, gradient)

    @_guarded
    def ask(
        self, asked: Iterable[tuple[_K, tuple[torch.Tensor, ...]]], answer: Callable[[_K, list[float]], None]
    ) -> None:
        """Have numbers read: `answer` gets those of each key later, or never where slots are short."""
        for alike in _alike(asked, lambda one: one[1][0]):
            counts = [(key, len(numbers)) for key, numbers in alike]
            self._ask([one for _, numbers in alike for one in numbers], partial(_hand_out, counts, answer))

    def _ask(self, numbers: list[torch.Tensor], answer: Callable[[list[float]], None]) -> None:
        """Have numbers of one device and dtype read."""
        readback = self._free_readback(numbers[0], len(numbers)) if numbers and len(numbers) <= SLOTS else None
        if readback is not None:
            looks = range(self._looks.next, self._looks.next + len(numbers))
            for _ in looks:
                self._looks.numbers.extend((SIZE, 0, 0, 0, 0, -1, -1, self._steps.current, readback.name, 0, 0))
            readback.put(numbers, looks)
            self._looks.asked.append((looks, answer))

    def _place(self, kind: int, call: BackwardCall) -> tuple[int, ...]:
        return kind, 0, 0, call.thread, 0, call.number, -1, call.step

    def _descends(self, number: int, tensor: torch.Tensor) -> None:
        seen = self._made.get(storage_of(tensor)[0])
        if seen is not None:
            self._looks.parents.extend((number, seen, False))

    def _mark(self, kind: int) -> None:
        self._looks.marks.append(self._looks.next)
        self._looks.numbers.extend((kind, 0, 0, 0, 0, -1, -1, self._steps.current, 0, 0, 0))

    @_guarded
    def over(self) -> None:
        """A step is over."""
        self._made.clear()
        self._mark(OVER)

    @_guarded
    def send(self) -> None:
        """Send on what has gathered, if what was sent before has come."""
        self._exchange()

    @_guarded
    def first(self) -> NonfiniteOrigin | None:
        """This step's first event. Waits, so ask only where the program itself has waited for the device."""
        self._wait()
        return self.lineage.first

    def forget(self, call: BackwardCall) -> None:
        """The call is over, whatever became of it."""
        if call in self._running:
            self._running.remove(call)

    @_guarded
    def finish(self) -> None:
        """The recording ends: a forked child has no device to wait for."""
        if os.getpid() == self._process:
            self._wait()
            self.lineage.close()
            self.off = True
            for readback in list(self._readbacks.values()):
                readback.close()
            self._readbacks.clear()

    def _readback_of(self, tensor: torch.Tensor) -> Readback:
        device, dtype = tensor.device, torch.float64 if tensor.dtype is torch.float64 else torch.float32
        readback = self._readbacks.get((device, dtype))
        if readback is None:
            readback = self._readbacks[device, dtype] = Readback(device, dtype, self._word(str(device)))
        return readback

    def _free_readback(self, tensor: torch.Tensor, count: int) -> Readback | None:
        """The readback for a tensor with so many free slots; None while there is none."""
        if accelerators.is_capturing(tensor.device):
            return None
        readback = self._readback_of(tensor)
        if readback.is_full(count):
            self._exchange()
        return readback if readback.takes(count) else None

    def _exchange(self) -> None:
        """Send on what has gathered, when what was sent before has come."""
        if self._receive():
            for readback in list(self._readbacks.values()):
                readback.send()
            self._sent, self._looks = self._looks, Looks(self._looks.next)

    def _receive(self) -> bool:
        """Read what was sent, if all of it has come."""
        readbacks = list(self._readbacks.values())
        if any(accelerators.is_capturing(one.device) or not one.has_come() for one in readbacks):
            return False
        come, self._sent = self._sent, Looks(self._looks.first)
        asked = {number for numbers, _ in come.asked for number in numbers}
        values: dict[int, float] = {}
        for readback in readbacks:
            values.update(readback.take(self._huge, asked))
        self.lineage.follow(come, values)
        for numbers, answer in come.asked:
            answer([values[number] for number in numbers])
        return True

    def _wait(self) -> None:
        """Until all that is known to the device is known here."""
        for _ in range(2):  # what was sent, and what has gathered
            for readback in list(self._readbacks.values()):
                readback.wait()
            self._exchange()

    def _leaf(self, identity: int) -> int:
        leaf = self._names.tensor(identity)
        return self._string("leaf" if leaf is None else self._names.leaf(leaf))

    def _word(self, text: str) -> int:
        return self._words.setdefault(text, len(self._words))

    def _text(self, word: int) -> str:
        return list(self._words)[word]

    def _switch_off(self) -> None:
        self.off = True


def _alike(items: Iterable[_I], tensor_of: Callable[[_I], torch.Tensor]) -> Iterable[list[_I]]:
    """What has a tensor of one device and dtype, which is measured at once."""
    groups: dict[tuple[torch.device, torch.dtype], list[_I]] = defaultdict(list)
    for item in items:
        groups[tensor_of(item).device, tensor_of(item).dtype].append(item)
    return groups.values()


def _hand_out(counts: list[tuple[_K, int]], answer: Callable[[_K, list[float]], None], numbers: list[float]) -> None:
    """Give each key as many of the numbers as it asked for."""
    left = iter(numbers)
    for key, count in counts:
        answer(key, list(islice(left, count)))
