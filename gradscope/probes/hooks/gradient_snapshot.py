"""What an observer sees of a gradient between two hooks, without keeping it."""

from __future__ import annotations

import time
from typing import Any

import torch

from gradscope.probes.core.thread_state import Thread
from gradscope.probes.tensors import accelerators
from gradscope.probes.tensors.device_statistics import DeviceStatistics
from gradscope.probes.tensors.statistics import Statistics, statistics_of
from gradscope.signals import let_through
from gradscope.torch_internals.guards import no_autograd, no_dispatch, no_function, no_transforms, unprofiled


class GradientSnapshot:
    """One look: what tells the gradient from another or from an edited one, its norm, and when the look was taken."""

    __slots__ = ("began", "ended", "identity", "norm")

    def __init__(self, gradient: Any, measured: Thread | None, far: DeviceStatistics) -> None:
        """The norm is measured only when a thread is given to do it in; on a device it is known when `far` is read."""
        self.began = self.ended = time.perf_counter()
        self.identity = identity_of(gradient)
        self.norm: float | None = None
        if measured is not None:
            busy, measured.busy = measured.busy, True
            try:
                with unprofiled(), no_function(), no_dispatch(), no_autograd(), no_transforms():
                    self._measure(_first(gradient), far)
            finally:
                measured.busy = busy

    def _measure(self, gradient: torch.Tensor | None, far: DeviceStatistics) -> None:
        """Its 2-norm over finite values; nothing for what has no plain values to look at."""
        if gradient is not None and accelerators.is_on_accelerator(gradient):
            far.ask(gradient, self._take)
        elif gradient is not None and (found := statistics_of(gradient)) is not None:
            self._take(found)

    def _take(self, found: Statistics) -> None:
        self.norm = found[0]


def identity_of(gradient: Any) -> Any:
    """The identity and version of a gradient, or of each of several."""
    if isinstance(gradient, torch.Tensor):
        with no_function():
            version = 0 if gradient.is_inference() else gradient._version
            held = gradient.grad if gradient.is_leaf else None  # a post-accumulate hook gets the leaf itself
            return id(gradient), version, id(held), 0 if held is None else held._version
    if isinstance(gradient, (tuple, list)):
        return tuple(identity_of(one) for one in gradient)
    return None


def change(before: Any, now: Any) -> int:
    """0 when a hook left the gradient alone, 2 when it edited it, or the parameter that it got, in place, else 1."""
    if before == now:
        return 0
    try:
        pairs = list(zip(before, now, strict=True)) if isinstance(now[0], tuple) else [(before, now)]
        return 2 if any(was[0] == is_[0] and was[1] != is_[1] for was, is_ in pairs if was and is_) else 1
    except (TypeError, ValueError, IndexError) as error:  # nothing before, or nothing now
        let_through(error)
        return 1


def _first(gradient: Any) -> Any:
    """The gradient that is measured: the first of several, and the one that a leaf holds."""
    if isinstance(gradient, (tuple, list)):
        gradient = next((one for one in gradient if isinstance(one, torch.Tensor)), None)
    if not isinstance(gradient, torch.Tensor):
        return None
    with no_function():
        return gradient.grad if gradient.is_leaf and gradient.requires_grad else gradient
