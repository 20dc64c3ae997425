"""Tells leaves apart that no module and no variable names, where there are several ranks: all of them are called alike,
and of leaves of one name one alone is measured."""

from __future__ import annotations

import weakref

import torch

from gradscope.probes.core.backward_call import BackwardCall
from gradscope.probes.core.context import Context
from gradscope.probes.core.qualified_names import NAMELESS
from gradscope.probes.nonfinite.host import NonfiniteOnHost
from gradscope.probes.nonfinite.norms import norm_of, read, wide
from gradscope.probes.tensors.accelerators import is_capturing, is_far
from gradscope.probes.tensors.value_samples import is_plain

_NAMELESS_ONE = 4
_MOST = 64  # leaves may be new in each step
_SEVERAL = 2

Key = tuple[int, int]  # the backward, and the number of the name


class NamelessWeights:
    """The norms of leaves without a name that keep their gradients, named by where each was seen first."""

    def __init__(self, context: Context) -> None:
        self._sink, self._names = context.sink, context.names
        self._nonfinite = context.get(NonfiniteOnHost)
        self._known: dict[int, tuple[weakref.ref[torch.Tensor], int]] = {}

    def measure(self, call: BackwardCall) -> None:
        """Measure them; the caller's guards keep that out of what is recorded."""
        found = [] if call.walked is None else [*call.walked.leaves.items()]
        leaves = [(self._names.tensor(identity), node) for identity, node in found]
        nameless = [
            (one, node)
            for one, node in leaves
            if one is not None
            and one.is_floating_point()
            and one.numel()
            and one.grad is not None
            and self._is_one(one)
        ]
        if len(nameless) < _SEVERAL:
            return  # it is measured as the leaf without a name
        named = [(self._name(one, call.number, node), one) for one, node in nameless]
        keys = [((call.number, name), one) for name, one in named if name is not None]
        read(((key, (norm_of(one, wide(one)),)) for key, one in keys if is_plain(one)), self._write)
        far = [(key, one) for key, one in keys if is_far(one) and not is_capturing(one.device)]
        self._nonfinite.on_device.ask(((key, (norm_of(one, wide(one)),)) for key, one in far), self._write)

    def _is_one(self, leaf: torch.Tensor) -> bool:
        return self._names.leaf(leaf) == NAMELESS

    def _name(self, leaf: torch.Tensor, backward: int, node: int) -> int | None:
        """A leaf's own name, by the first backward and its node there; None for those that are too many."""
        known = self._known.get(id(leaf))
        if known is not None and known[0]() is leaf:
            return known[1]
        if len(self._known) >= _MOST:
            return None
        name = self._sink.string(f"{NAMELESS} of node {node} of backward {backward}")
        self._known[id(leaf)] = weakref.ref(leaf), name
        return name

    def _write(self, key: Key, numbers: list[float]) -> None:
        self._sink.add("buffer_size", (*key, repr(numbers[0]), _NAMELESS_ONE))
