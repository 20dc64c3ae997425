"""Sees which operator read and made which tensor: the way of a parameter to the loss, also where autograd lost it.

Steps repeat, so it looks at the first ones only, and again for a while after operators that were not seen before, or
when an optimizer's gradients come or go. A tensor is known by a weak reference: the identity of a dead one is soon
another's.
"""

from __future__ import annotations

import threading
import weakref
from array import array
from collections.abc import Callable, Iterator
from typing import Any

import torch

from gradscope.probes.core.backward_call import BackwardCall
from gradscope.probes.core.context import Context
from gradscope.probes.core.probe import Watcher
from gradscope.probes.core.thread_state import Thread
from gradscope.probes.functions.captured_tensors import CapturedTensors
from gradscope.probes.operators.blocks import ends_of, operators_of
from gradscope.probes.operators.news import News
from gradscope.probes.operators.returned_numbers import ReturnedNumbers
from gradscope.probes.tensors.is_leaf import is_leaf
from gradscope.probes.tensors.metadata import TensorTypes, storage_of
from gradscope.torch_internals.dynamo import skip_methods
from gradscope.torch_internals.guards import no_function
from gradscope.torch_internals.tensors import free_weak_reference, innermost, is_expired, weak_reference

_BACKWARD, _GRAD = 4, 1  # what calls count: a step of training may take several derivatives before its backward()
_LOOK = 3 * _BACKWARD  # how long it looks from the start, and from a step on that ran new operators
_WAIT = 3 * _LOOK  # how much longer, until what was new in a step that trains has come again
_MOST_OPERATORS = 40_000  # that were followed, after which no news are: steps may be long, and none like another
_LIVING = 4096  # known tensors from which on the dead are swept out between steps
_WIDTH = 4  # numbers for a tensor read or made
_READ, _MADE = 0, 1
_RESULT = 1  # of what requires grad: a result, not a leaf
_ROOT, _TARGET = 0, 1
_LATER = 1 << 20  # the place in a block of what its last operator read, which ran after the block was closed


class Dataflow(Watcher):
    """Numbers tensors, and writes which operator read (with requires_grad as it was) and made them."""

    probe = "dataflow"

    def __init__(self, context: Context) -> None:
        self._sink, self._threads, self._names = context.sink, context.threads, context.names
        self._faults = context.faults
        self._captured = CapturedTensors(context.sink, context.stacks)
        self._types, self._returned = TensorTypes(context.sink), ReturnedNumbers(context.sink)
        self._known: dict[int, tuple[weakref.ref[Any], int, int]] = {}  # id() -> tensor, number, number of its storage
        # By identity, its own while torch's weak reference is held. That is a plain number here: an object for it would
        # have a __del__ in Python, and what a signal handler raises in there is lost.
        self._storages: dict[int, tuple[Any, int]] = {}
        self._numbers = self._storage_numbers = 0
        self._numbering = threading.RLock()  # threads share tensors
        self._computed: set[int] = set()  # storages that a forward made, not what it was given
        self._unnamed: list[tuple[weakref.ref[Any], tuple[int, ...]]] = []
        self._left = _LOOK  # until it stops
        self._news, self._followed = News(), 0
        self._fresh: frozenset[tuple[int, int]] = frozenset()  # operators that were new and not followed, with stacks
        self._awaited = self._fresh  # those that led to a backward
        self.on = True
        context.events.storage_asked.append(self.computed)
        context.events.tensor_forgotten.append(self._forget)
        skip_methods(Dataflow)

    def saw(self, frame: Any, arguments: tuple[Any, ...], keywords: dict[str, Any], result: Any) -> None:
        """A frame of the program, or none, has run an operator; its place is the end of the open block."""
        thread = self._threads.current
        if thread.busy or not thread.operations:
            return
        operands = (arguments, tuple(keywords.values())) if keywords else arguments
        try:
            with no_function():
                self._note(thread, operands, result)
            if thread.transforms:
                self._captured.look(thread, frame, _tensors(operands), _tensors((result,)))
        except Exception as error:
            self._faults.note(self.probe, error)

    def exchanges(self, thread: Thread) -> int | None:
        """The number, in the open block, of the collective that is about to run; None where it is not followed."""
        if not self.on or thread.busy or thread.backward is not None:
            return None
        return len(ends_of(thread.operations)) - 1 if thread.operations else None

    def exchanged(self, at: tuple[int, int], operands: tuple[Any, ...], result: Any) -> None:
        """A collective, the last operator of a block that is closed, has read and made its tensors."""
        try:
            with no_function():
                read = [(_READ, self._place(one)[0], _requires(one)) for one in _tensors(operands)]
                made = [(_MADE, self._place(one)[0], 0) for one in _tensors((result,))]
            for position, one in enumerate((*read, *made), _LATER):
                self._sink.add("flow", (at[0], position, at[1], *one))
        except Exception as error:
            self._faults.note(self.probe, error)

    def _note(self, thread: Thread, operands: tuple[Any, ...], result: Any) -> None:
        place, rows, computes = len(thread.operations), thread.dataflow, thread.call is not None
        for tensor in _tensors(operands):
            (number, storage), requires = self._place(tensor), _requires(tensor)
            rows.extend((place, _READ, number, requires))
            if requires == _RESULT:
                self._computed.add(storage)
            computes = computes or requires != 0 or storage in self._computed
        for tensor in self._returned.behind(thread.operator, result):
            rows.extend((place, _READ, self._place(tensor)[0], _requires(tensor)))
        if computes and thread.backward is None:
            self._returned.saw(thread.operator, _tensors(operands), _tensors((result,)))
        before = self._storage_numbers
        for tensor in _tensors((result,)):
            number, storage = self._place(tensor)
            rows.extend((place, _MADE, number, 0))
            if computes and storage > before:  # memory that was there already stays what it was
                self._computed.add(storage)

    def _forget(self, tensor: torch.Tensor) -> None:
        """A tensor is about to become another: write it as it is, and number it anew."""
        self.name()
        self._known.pop(id(tensor), None)
        self._returned.forget()

    def computed(self, identity: int) -> bool | None:
        """Whether a forward made a living storage: in a module call, or from something that requires a gradient.

        None when the storage is not known.
        """
        known = self._storages.get(identity)
        return None if known is None or not known[0] or _expired(known[0]) else known[1] in self._computed

    def number(self, tensor: torch.Tensor) -> int:
        """The number of a tensor; one that was not seen before was made out of sight."""
        return self._place(tensor)[0]

    def living(self) -> Iterator[tuple[int, torch.Tensor]]:
        """The tensors that it knows and that live, with their numbers."""
        for reference, number, _ in list(self._known.values()):
            tensor = reference()
            if tensor is not None:
                yield number, tensor

    def _place(self, tensor: torch.Tensor) -> tuple[int, int]:
        """The numbers of a tensor and its storage."""
        known = self._known.get(id(tensor))
        if known is not None and known[0]() is tensor:
            return known[1], known[2]
        with self._numbering:
            return self._number(tensor)

    def _number(self, tensor: torch.Tensor) -> tuple[int, int]:
        """Number a tensor that is not known, unless another thread has just done so."""
        known = self._known.get(id(tensor))
        if known is not None and known[0]() is tensor:
            return known[1], known[2]
        self._numbers += 1
        reference, storage = weakref.ref(tensor), self._storage(tensor)
        self._known[id(tensor)] = (reference, self._numbers, storage)
        row = (self._numbers, storage, self._types.take(tensor))
        if is_leaf(tensor) and (tensor.requires_grad or isinstance(tensor, torch.nn.Parameter)):
            self._unnamed.append((reference, row))
        else:
            self._sink.add("flow_tensor", (*row, 0, 0))
        return self._numbers, storage

    def _storage(self, tensor: torch.Tensor) -> int:
        identity = storage_of(tensor)[0]
        known = self._storages.get(identity)
        if known is None or not identity:
            self._storage_numbers += 1
            known = (weak_reference(tensor.untyped_storage()) if identity else 0, self._storage_numbers)
            self._storages[identity] = known
        return known[1]

    def name(self) -> None:
        """Write the leaves of this step: their names are learned when their module runs, not when they are made."""
        for reference, row in (unnamed := tuple(self._unnamed)):
            leaf = reference()
            name = 0 if leaf is None else self._sink.string(self._names.leaf(leaf))
            self._sink.add("flow_tensor", (*row, name, int(isinstance(leaf, torch.nn.Parameter))))
        del self._unnamed[: len(unnamed)]  # another thread may have added more

    def close(self, thread: Thread, run: int, numbers: list[int], new: bool) -> None:
        """A block of these operators ends. News make it look for longer."""
        rows = thread.dataflow
        if rows:
            ends = ends_of(numbers)  # the operator whose numbers end at a place
            for position, at in enumerate(range(0, len(rows), _WIDTH)):
                place, side, number, requires = rows[at : at + _WIDTH]
                self._sink.add("flow", (run, position, ends[place], side, number, requires))
            self._followed += len(ends)
            self._returned.forget()
            del rows[:]
            if self._awaited and not self._awaited.isdisjoint((one.name, one.stack) for one in operators_of(numbers)):
                self._awaited = frozenset()
        self._fresh = frozenset()
        if not new or self._followed >= _MOST_OPERATORS:
            return
        if self.on:
            self._news.note(numbers)
        elif self._news.take(numbers):
            self._fresh = self._news.latest
            self.look_again()

    def look_again(self) -> None:
        """Follow the tensors of this step and the next ones: something has changed."""
        self._left = _LOOK
        self.on = True

    def release(self) -> None:
        """The recording ends: write what no backward asked for, and let go of all storages."""
        self.name()
        self.on = False
        self._sweep(lambda reference: True)

    def _sweep(self, over: Callable[[int], bool]) -> None:
        """Let go of the storages that are over."""
        for identity, (reference, number) in self._storages.copy().items():
            if (not reference or over(reference)) and self._storages.pop(identity, None) is not None:
                self._computed.discard(number)
                if reference:
                    free_weak_reference(reference)

    def before(self, call: BackwardCall, thread: Thread) -> None:
        """Note which tensors a backward starts from, and which it is asked for."""
        self.name()
        if call.accumulate:  # the step of a generator may come once in several of its critic's
            self._awaited, self._fresh = self._fresh or self._awaited, frozenset()
        if not self.on and call.reached:
            return
        for side, tensors in ((_ROOT, call.outputs), (_TARGET, call.targets)):
            for position, tensor in enumerate(tensors):
                if isinstance(tensor, torch.Tensor):
                    number, requires = self.number(innermost(tensor)), _requires(tensor)  # as operators see it
                    self._sink.add("flow_end", (call.number, side, position, number, requires))
        self.name()

    def after(self, call: BackwardCall, thread: Thread) -> None:
        """A step may have ended: look on only while it is young."""
        if call.outer is None and self.on:
            self._left -= _BACKWARD if call.accumulate else _GRAD
            self.on = self._left > 0 or (bool(self._awaited) and self._left > -_WAIT)
            if not self.on or len(self._known) > _LIVING:
                with self._numbering:
                    self._known = {key: one for key, one in self._known.copy().items() if one[0]() is not None}
                    self._sweep(_expired)


def _expired(reference: int) -> bool:
    return bool(is_expired(reference))


def _requires(tensor: torch.Tensor) -> int:
    """Whether it requires grad: 2 for a leaf, which needs no operator to do so."""
    return (2 if is_leaf(tensor) else _RESULT) if tensor.requires_grad else 0


def _tensors(values: Any) -> Iterator[torch.Tensor]:
    """The tensors among an operator's arguments or results: lists of tensors are one level deep."""
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from _tensors(value)


def blank() -> array[int]:
    """Room for what a thread's open block reads and makes: place, side, tensor, requires_grad for each."""
    return array("q")
