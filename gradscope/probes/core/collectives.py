"""Commits before every collective: a rank that hangs in one is killed from outside, and its last second matters most.

The surprise: each of torch.distributed's functions asks `_rank_not_in_group` before it talks to the others. Standing
in for it costs no frame in the traceback of a collective that fails. Collectives issued as operators (DTensor, FSDP2,
functional collectives) are seen where operators are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from gradscope.probes.core.context import Context
from gradscope.signals import attribute
from gradscope.torch_internals.dynamo import skip
from gradscope.torch_internals.find import Replacement

NAMESPACES = ("c10d", "_c10d_functional", "_c10d_functional_autograd")


class Collectives:
    """Commits before collectives while it is entered."""

    def __init__(self, context: Context) -> None:
        self._flush, self._faults = context.sink.commit, context.faults
        self._place = Replacement("torch.distributed.distributed_c10d._rank_not_in_group")

    def __enter__(self) -> Collectives:
        self._place.put(self._stand_in(self._place.original))
        return self

    def __exit__(self, *error: object) -> None:
        self._place.restore()

    def _stand_in(self, original: Callable[[Any], bool]) -> Callable[[Any], bool]:
        flush, faults = self._flush, self._faults

        def rank_not_in_group(group: Any) -> bool:
            try:
                flush()
            except Exception as error:
                faults.note("collectives", error)
            return original(group)

        skip(rank_not_in_group)
        return rank_not_in_group


def is_collective(operator: Any) -> bool:
    """Whether an operator talks to other ranks."""
    return attribute(operator, "namespace") in NAMESPACES


def is_distributed() -> bool:
    """Whether a process group exists, so that a backward may have collectives that only C++ sees."""
    return torch.distributed.is_available() and torch.distributed.is_initialized()
