"""Looks at a program's loss and gradients between two steps, from outside: none of the probes stands.

The surprise: what is microseconds in a loop is a tenth of a millisecond between two steps, when nothing of ours is in
the processor's caches. So looks are rare enough to take a hundredth of the run. Numbers on an accelerator are asked for
and fetched at a later look: nobody waits for a device.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from gradscope.arming.budget import Budget
from gradscope.probes.nonfinite.device_readback import Readback
from gradscope.probes.tensors.accelerators import is_capturing, is_far
from gradscope.probes.tensors.value_samples import is_plain
from gradscope.torch_internals.dynamo import is_traced
from gradscope.torch_internals.guards import no_autograd, no_dispatch, no_function, unprofiled
from gradscope.torch_internals.tensors import norms_of

_SHARE = 0.005  # of the run's time for looks at the loss, and as much for gradients
_LOSS, _NORM = 0, 1  # what a slot of the device holds


@dataclass(frozen=True, slots=True)
class Seen:
    """What was seen of a step; None where nobody looked, or where there was nothing to look at."""

    step: int
    loss: float | None = None
    norm: float | None = None  # of all gradients together
    seconds: float | None = None
    raised: BaseException | None = None


class Looks:
    """Reads the loss and the gradients as often as that is cheap."""

    def __init__(self, gradients: bool) -> None:
        """`gradients`: whether anybody wants to know them."""
        self._gradients = gradients
        self._glances, self._close_looks = Budget(_SHARE), Budget(_SHARE)
        self._far: Readback | None = None

    def are_due(self, now: float) -> bool:
        """Whether there may be a look, at the time that time.perf_counter tells."""
        return self._glances.is_due(now) or self._close_looks.is_due(now)

    def read(self, outputs: Sequence[Any], now: float) -> dict[int, float]:
        """The loss and the norm, those of them that are known now."""
        if is_traced():
            return {}
        with unprofiled(), no_function(), no_dispatch(), no_autograd():
            root = outputs[0] if len(outputs) == 1 else None
            found = {} if not _is_loss(root) or not is_plain(root) else {_LOSS: float(root.detach())}
            seen = time.perf_counter()
            self._glances.spent(now, seen)
            if self._close_looks.is_due(now):
                found |= self._closely(root, outputs)
                self._close_looks.spent(seen, time.perf_counter())
        return found

    def _closely(self, root: Any, outputs: Sequence[Any]) -> dict[int, float]:
        """The gradients, and what is on a device."""
        leaves = [leaf.grad for leaf in _leaves(outputs) if leaf.grad is not None] if self._gradients else []
        near = [one for one in leaves if is_plain(one) and one.is_floating_point() and one.numel()]
        if near:
            return {_NORM: float(_norm(near))}
        far = [one for one in leaves if is_far(one)]
        loss = root if _is_loss(root) and is_far(root) else None
        return self._elsewhere(loss, far)

    def _elsewhere(self, loss: torch.Tensor | None, gradients: list[torch.Tensor]) -> dict[int, float]:
        """What was asked of the device at an earlier look; and ask for this one's."""
        if loss is None and not gradients:
            return {}
        device = gradients[0].device if loss is None else loss.device
        if is_capturing(device):
            return {}
        if self._far is None:
            self._far = Readback(device, torch.float32, 0)
        if not self._far.has_come():
            return {}
        found = self._far.take(math.inf, {_LOSS, _NORM})
        here = [one for one in gradients if one.device == device]
        numbers = {_LOSS: loss.detach().reshape(())} if loss is not None else {}
        numbers |= {_NORM: _norm(here)} if here else {}
        if device == self._far.device and self._far.takes(len(numbers)):
            for what, number in numbers.items():
                self._far.put([number.float()], range(what, what + 1))
            self._far.send()
        return found


def values(found: dict[int, float]) -> tuple[float | None, float | None]:
    """The loss and the norm."""
    return found.get(_LOSS), found.get(_NORM)


def _is_loss(root: Any) -> bool:
    return isinstance(root, torch.Tensor) and root.is_floating_point() and root.numel() == 1


def _norm(gradients: list[torch.Tensor]) -> torch.Tensor:
    """The norm of tensors of one device together; NaN or infinite when one of them has such an element."""
    kinds = {one.dtype for one in gradients}
    wide = torch.float64 if torch.float64 in kinds else torch.float32
    norms: list[torch.Tensor] = []
    for kind in kinds:
        norms += norms_of([one for one in gradients if one.dtype is kind], 2, dtype=wide)
    together: torch.Tensor = torch.linalg.vector_norm(torch.stack(norms))
    return together


def _leaves(outputs: Sequence[Any]) -> Iterator[torch.Tensor]:
    """The leaves of a graph that has run: its edges are still there."""
    waiting = [one.grad_fn for one in outputs if isinstance(one, torch.Tensor) and one.grad_fn is not None]
    known = set(waiting)
    while waiting:
        node = waiting.pop()
        leaf = getattr(node, "variable", None)
        if isinstance(leaf, torch.Tensor):
            yield leaf
        for following, _ in node.next_functions:
            if following is not None and following not in known:
                known.add(following)
                waiting.append(following)
