"""Looks at some elements of each parameter before and after a step: does the step change them? And learning rates.

Elements are compared in the steps 0 to 5, 8, 16, 32, ..., and in one after some were frozen; on an accelerator they are
not, because that would wait.
"""

from __future__ import annotations

import itertools
from typing import Any

import torch

from gradscope.model.flow import is_looked_at
from gradscope.model.training import AIM
from gradscope.probes.core.context import Context
from gradscope.probes.core.optimizer_numbers import OptimizerNumbers, parameters_of
from gradscope.probes.tensors.value_samples import is_plain
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
                self._before[number] = [(one, _some(one).clone()) for one in trained if is_plain(one) and one.numel()]

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
            for position, (parameter, values) in enumerate(before):
                now = _some(parameter)
                if now.shape == values.shape and now.dtype == values.dtype:
                    changed = int(torch.count_nonzero(now != values))
                    name = self._sink.string(self._names.leaf(parameter))
                    row = (number, self._counts[number] - 1, position, name, changed, values.numel())
                    self._sink.add("parameter_update", row)


def _some(parameter: torch.Tensor) -> torch.Tensor:
    """Elements from all over a parameter."""
    flat = parameter.reshape(-1)
    return flat[:: max(1, -(-flat.numel() // _ELEMENTS))]
