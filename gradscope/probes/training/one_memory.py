"""Parameters of an optimizer that are several and lie over the same numbers: it steps them once for each.

It is asked at an optimizer's first step: by then the gradients say which of them learn.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from typing import Any

import torch

from gradscope.probes.core.optimizer_numbers import parameters_of
from gradscope.probes.tensors.metadata import storage_of

_PLAIN = (torch.nn.Parameter, torch.Tensor)  # a tensor class may say of its memory what it likes
_NOWHERE = "meta"


class OneMemory:
    """Remembers which optimizers were asked."""

    def __init__(self) -> None:
        self._asked: set[int] = set()

    def of(self, number: int, optimizer: Any, present: list[bool]) -> list[tuple[torch.Tensor, ...]]:
        """Those of an optimizer that hold a gradient and lie over one memory; none from its second step on."""
        if number in self._asked:
            return []
        self._asked.add(number)
        found: dict[tuple[int, int, int], dict[int, torch.Tensor]] = defaultdict(dict)
        for one in itertools.compress(parameters_of(optimizer), present):
            if type(one) in _PLAIN and one.layout is torch.strided and one.device.type != _NOWHERE and one.numel():
                storage, size = storage_of(one)
                if storage and size:
                    found[storage, one.storage_offset(), one.numel()][id(one)] = one
        return [tuple(several.values()) for several in found.values() if len(several) > 1]
