"""Looks at some elements of each parameter before and after a step: does the step change them? And learning rates.

Elements are compared in the steps 0 to 5, 8, 16, 32, ..., and in one after some were frozen. An accelerator compares
its own, and what it has counted is written when it has come.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import partial
from typing import Any

import torch

from gradscope.model.flow import is_looked_at
from gradscope.model.training import AIM
from gradscope.probes.core.context import Context
from gradscope.probes.core.optimizer_numbers import OptimizerNumbers, parameters_of
from gradscope.probes.nonfinite.host import NonfiniteOnHost
from gradscope.probes.tensors.accelerators import is_capturing, is_far
from gradscope.probes.tensors.value_samples import is_plain
from gradscope.signals import attribute
from gradscope.torch_internals.dynamo import skip_methods
from gradscope.torch_internals.guards import no_autograd, no_dispatch, no_function, unprofiled

_ELEMENTS = 1024  # of a parameter
_AIMS = ("initial_lr", "max_lr")  # what torch's schedules leave in a group


class Updates:
    """Writes what share of elements a step changed, and the learning rate of each group where it changes."""

    probe = "updates"

    def __init__(self, context: Context) -> None:
        self._sink, self._names, self._faults = context.sink, context.names, context.faults
        self._optimizers, self._recorded = context.get(OptimizerNumbers), context.steps
        self._on_device = context.get(NonfiniteOnHost).on_device
        self._counts: dict[int, int] = {}  # recorded steps, by the optimizer's number
        self._rates: dict[tuple[int, int], float] = {}
        self._before: dict[int, list[tuple[Any, torch.Tensor]]] = {}
        skip_methods(Updates)
        context.events.optimizer_steps.append(self._steps)
        context.events.optimizer_stepped.append(self._stepped)

    def __enter__(self) -> Updates:
        return self

    def __exit__(self, *error: object) -> None:
        self._before.clear()

    def _steps(self, optimizer: Any, frame: Any, present: list[bool], froze: bool) -> None:
        if not self._recorded.recorded:
            return
        number = self._optimizers.of(optimizer)
        count = self._counts.get(number, 0)
        self._counts[number] = count + 1
        self._note_rates(optimizer, number, count)
        if is_looked_at(count) or froze:
            with unprofiled(), no_function(), no_dispatch(), no_autograd():
                trained = itertools.compress(parameters_of(optimizer), present)
                self._before[number] = [(one, _some(one).clone()) for one in trained if _is_compared(one)]

    def _note_rates(self, optimizer: Any, number: int, count: int) -> None:
        for group, options in enumerate(optimizer.param_groups):
            rate = options.get("lr")
            if isinstance(rate, float | int) and self._rates.get((number, group)) != rate:
                if (number, group) not in self._rates:
                    self._note_aim(options, number, group)
                self._rates[number, group] = rate
                self._sink.add("learning_rate", (number, count, group, repr(float(rate))))

    def _note_aim(self, options: dict[str, Any], number: int, group: int) -> None:
        """Write the rate that a schedule goes by: what the optimizer was given, or what it is to rise to."""
        aims = [options[name] for name in _AIMS if isinstance(options.get(name), float | int)]
        if aims:
            self._sink.add("learning_rate", (number, AIM, group, repr(float(max(aims)))))

    def _stepped(self, optimizer: Any) -> None:
        if not self._before:
            return  # as after nearly all steps
        number = self._optimizers.of(optimizer)
        before = self._before.pop(number, None)
        if before is None:
            return
        with unprofiled(), no_function(), no_dispatch(), no_autograd():
            skips = _skips(optimizer)
            if skips is None or not is_plain(skips):
                self._compare(number, before, skips)
            elif not bool(skips):
                self._compare(number, before, None)

    def _compare(self, number: int, before: list[tuple[Any, torch.Tensor]], skips: torch.Tensor | None) -> None:
        """Write how many elements differ now; `skips`: what on an accelerator says whether the step was left out."""
        write, far = partial(self._write, number, self._counts[number] - 1), []
        for position, (parameter, values) in enumerate(before):
            now = _some(parameter)
            if not _is_compared(parameter) or _kind(now) != _kind(values):
                continue
            changed = torch.count_nonzero(now != values)
            row = (position, self._sink.string(self._names.leaf(parameter)), values.numel())
            if is_far(now):
                numbers = [changed] if skips is None else [changed, skips.to(now.device, non_blocking=True)]
                far.append((row, tuple(one.to(torch.float32) for one in numbers)))
            elif skips is None:
                write(row, [int(changed)])
        self._on_device.ask(far, write)

    def _write(self, optimizer: int, count: int, row: tuple[int, int, int], changed: Sequence[float]) -> None:
        """Write how many elements changed, unless a second number says that this step was to change none."""
        position, name, elements = row
        if not any(changed[1:]):
            self._sink.add("parameter_update", (optimizer, count, position, name, int(changed[0]), elements))


def _some(parameter: torch.Tensor) -> torch.Tensor:
    """Elements from all over a parameter."""
    flat = parameter.reshape(-1)
    return flat[:: max(1, -(-flat.numel() // _ELEMENTS))]


def _is_compared(parameter: Any) -> bool:
    """Whether its elements are at hand, here or on an accelerator that is not busy taking a graph down."""
    if is_far(parameter):
        return not is_capturing(parameter.device)
    return is_plain(parameter) and bool(parameter.numel())


def _skips(optimizer: Any) -> torch.Tensor | None:
    """What a GradScaler gives a fused optimizer for a step: whether a gradient is not finite, so that it skips it."""
    told = attribute(optimizer, "found_inf")
    return told.reshape(()) if isinstance(told, torch.Tensor) and told.numel() == 1 else None


def _kind(values: torch.Tensor) -> tuple[Any, ...]:
    """What two must have in common to be compared."""
    return values.shape, values.dtype, values.device
