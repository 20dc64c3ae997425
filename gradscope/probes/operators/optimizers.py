"""Sees which parameters optimizers hold, and what their gradients are when an optimizer steps and a backward starts.

The state of a gradient is read in the first steps and at powers of two after them. That one is there or not costs
nothing to ask: where this changes, the next steps are read, too. So are the next backward calls where one reaches more
or fewer leaves than the one before. On an accelerator whether one is all zeros is asked for, and written when that has
come: until then a step's counts as other than zero.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Any

import torch

from gradscope.model.flow import is_looked_at
from gradscope.probes.core.backward_call import BackwardCall
from gradscope.probes.core.context import Context
from gradscope.probes.core.optimizer_numbers import OptimizerNumbers, parameters_of
from gradscope.probes.core.probe import Watcher
from gradscope.probes.core.thread_state import Thread
from gradscope.probes.nonfinite.host import NonfiniteOnHost
from gradscope.probes.operators.dataflow import Dataflow
from gradscope.probes.tensors.accelerators import is_capturing, is_far
from gradscope.probes.tensors.value_samples import is_plain
from gradscope.torch_internals.dynamo import skip_methods
from gradscope.torch_internals.guards import no_autograd, no_dispatch, no_function, no_transforms, unprofiled

_AFTER_CHANGE = 3  # steps that are looked at when a gradient has come or gone
_FIRST_STEPS, _FIRST_BACKWARDS = 4, 64  # of an optimizer, of the run
_MOST_CHANGES = 8  # of one optimizer: experts and heads that take turns are not looked at for ever
_MOST_REACHED = 16  # changes of how many leaves a backward reaches: what is thawed late comes new into the graph
_NONE, _ZERO, _SOME, _FROZEN = range(4)


@dataclass(slots=True)
class _Known:
    """An optimizer that has stepped: `count` times so far. `present`: which of its parameters had a gradient then."""

    count: int = 0
    present: list[bool] = field(default_factory=list)
    changes: int = 0
    again: int = 0  # looks that are due because of a change


class Optimizers(Watcher):
    """Looks at each optimizer's parameters just before it steps."""

    probe = "optimizers"

    def __init__(self, context: Context) -> None:
        self._sink, self._threads, self._stacks = context.sink, context.threads, context.stacks
        self._names, self._faults = context.names, context.faults
        self._dataflow = context.get(Dataflow)
        self._optimizers, self._on_device = context.get(OptimizerNumbers), context.get(NonfiniteOnHost).on_device
        self._known: dict[int, _Known] = {}  # by number
        self._looks = itertools.count(1)
        self._backwards = self._again = 0  # backward calls so far, and those to look at because of a change
        self._last: int | None = None
        self._young = set[int]()  # optimizers that have stepped a few times only
        self._spent = 0  # looks before backward calls of their first steps
        self._leaves, self._reached = 0, set[tuple[int, int]]()  # of the last backward; of two that follow one another
        skip_methods(Optimizers)
        context.events.optimizer_steps.append(self._steps)

    def __enter__(self) -> Optimizers:
        return self

    def __exit__(self, *error: object) -> None:
        """Nothing is put in place."""

    def before(self, call: BackwardCall, thread: Thread) -> None:
        """Note which leaves hold a gradient already: those that do not had it taken away since the last backward."""
        self._backwards += 1
        self._note_leaves(call)
        if not call.accumulate or not (is_looked_at(self._backwards) or self._again or self._is_first()):
            return
        self._again = max(self._again - 1, 0)
        far: list[tuple[tuple[int, int, int], Any]] = []
        for node in call.live:
            leaf = getattr(node, "variable", None)
            if isinstance(leaf, torch.Tensor) and call.walked is not None:
                number = call.walked.leaves.get(id(leaf))
                if number is not None:
                    self._look_at_leaf(leaf, (call.number, number, self._tensor(leaf)), far)
        self._on_device.ask(far, self._write_far)

    def _note_leaves(self, call: BackwardCall) -> None:
        """Have this and the next backward calls looked at if the number of leaves changes as it never did before."""
        if not call.accumulate or call.walked is None:
            return
        change = self._leaves, len(call.walked.leaves)
        self._leaves = change[1]
        if change[0] != change[1] and change not in self._reached and len(self._reached) < _MOST_REACHED:
            self._reached.add(change)
            self._again = max(self._again, _AFTER_CHANGE)

    def _look_at_leaf(
        self, leaf: torch.Tensor, place: tuple[int, int, int], far: list[tuple[tuple[int, int, int], Any]]
    ) -> None:
        """Write what a leaf's gradient is; add its largest magnitude to `far` where it is on an accelerator."""
        with unprofiled(), no_function(), no_dispatch(), no_autograd(), no_transforms():
            gradient = leaf.grad
            size = _size_there(leaf)
            if size is not None:
                far.append((place, (size,)))
            elif not is_far(gradient) or not leaf.requires_grad:
                self._sink.add("leaf_gradient", (*place, self._state(leaf)))

    def _write_far(self, place: tuple[int, int, int], sizes: list[float]) -> None:
        """A device has answered: NaN is not zero."""
        self._sink.add("leaf_gradient", (*place, _ZERO if sizes[0] == 0 else _SOME))

    def _is_first(self) -> bool:
        """Whether an optimizer has stepped a few times only: each step may take many backward calls, and another
        optimizer may step between two of them."""
        if not self._young or self._spent >= _FIRST_BACKWARDS:
            return False
        self._spent += 1
        return True

    def after(self, call: BackwardCall, thread: Thread) -> None:
        """Remember which backward ran last."""
        self._last = call.number

    def _steps(self, optimizer: Any, frame: Any, present: list[bool], froze: bool) -> None:
        number = self._optimizers.of(optimizer)
        known = self._known.setdefault(number, _Known())
        count, known.count = known.count, known.count + 1
        if known.count < _FIRST_STEPS:
            self._young.add(number)
        else:
            self._young.discard(number)
        thread = self._threads.current
        if thread.busy:
            return
        thread.busy = True
        try:
            self._note_change(known, present)
            if is_looked_at(count) or known.again or froze:
                known.again = max(known.again - 1, 0)
                self._look(optimizer, number, count, self._stacks.take(frame, thread.base))
        finally:
            thread.busy = False

    def _note_change(self, known: _Known, present: list[bool]) -> None:
        """Have the next steps looked at, and their tensors followed, if a gradient has come or gone."""
        changed, known.present = known.present != present, present
        if changed and known.count > 1 and known.changes < _MOST_CHANGES:
            known.changes += 1
            known.again = self._again = _AFTER_CHANGE
            self._dataflow.look_again()

    def _look(self, optimizer: Any, number: int, count: int, stack: int) -> None:
        look = next(self._looks)
        name = self._sink.string(type(optimizer).__name__)
        self._sink.add("optimizer_step", (look, number, name, count, self._last, stack))
        far = []
        for position, parameter in enumerate(parameters_of(optimizer)):
            leaf = self._sink.string(self._names.leaf(parameter))
            place = (look, position, leaf, self._tensor(parameter))
            self._sink.add("optimizer_parameter", (*place, self._state(parameter)))
            with unprofiled(), no_function(), no_dispatch(), no_autograd(), no_transforms():
                size = _size_there(parameter)
            if size is not None:
                far.append((place, (size,)))
        self._on_device.ask(far, self._write_zeros)

    def _write_zeros(self, place: tuple[int, int, int, int], sizes: list[float]) -> None:
        """A device has answered: what was written when the step began is written over."""
        if sizes[0] == 0:
            self._sink.add("optimizer_parameter", (*place, _ZERO))

    def _tensor(self, tensor: Any) -> int:
        return self._dataflow.number(tensor)

    def _state(self, leaf: Any) -> int:
        with unprofiled(), no_function(), no_dispatch(), no_autograd():
            gradient = leaf.grad
            if not leaf.requires_grad:
                return _FROZEN
            if gradient is None:
                return _NONE
            if not gradient.numel() or not is_plain(gradient):
                return _SOME
            return _SOME if int(torch.count_nonzero(gradient)) else _ZERO


def _size_there(leaf: torch.Tensor) -> torch.Tensor | None:
    """The largest magnitude of a leaf's gradient on an accelerator, which that has yet to compute; None elsewhere."""
    gradient = leaf.grad
    if not leaf.requires_grad or not is_far(gradient) or is_capturing(gradient.device):
        return None
    return torch.linalg.vector_norm(gradient, float("inf"))
