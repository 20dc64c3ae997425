"""Measures parameters of several ranks whose gradients come by torch.autograd.grad alone: no backward() ever fills a
`.grad` where such a program trains, and its ranks may drift apart as any others do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import torch

from gradscope.probes.core.backward_call import BackwardCall
from gradscope.probes.core.context import Context
from gradscope.probes.core.qualified_names import NAMELESS
from gradscope.probes.nonfinite.host import NonfiniteOnHost
from gradscope.probes.nonfinite.norms import norm_of, read, wide
from gradscope.probes.tensors.accelerators import is_capturing, is_far
from gradscope.probes.tensors.value_samples import is_plain

_DERIVED = 3


class DerivedWeights:
    """The norms of the parameters in the graph of the first derivative after a step, of the steps 0, 1, 2, 4, 8, ...,
    and of other leaves that the derivative is asked for. Where no optimizer steps, a step is what has moved a leaf.

    Only of the first: until the next step a program may move its parameters, each rank by itself, and put them back.
    """

    def __init__(self, context: Context) -> None:
        self._sink, self._names = context.sink, context.names
        self._nonfinite = context.get(NonfiniteOnHost)
        self._count, self._stepped, self._by_hand = 0, True, True
        self._in_sight = False  # whether a leaf was seen to be another than it was
        self._targets: set[int] = set()
        self._seen: set[tuple[int, int, int]] = set()
        context.events.optimizer_stepped.append(self._steps)

    def asks_for(self, targets: Iterable[Any]) -> None:
        """What a derivative is about to be asked for."""
        self._targets = {id(one) for one in targets}

    def is_asked(self, call: BackwardCall) -> bool:
        """Whether this derivative is to be measured; it is counted by that."""
        if not self._stepped and not (self._by_hand and self._have_moved(call)):
            return False
        self._seen = _states(self._leaves(call)) if self._by_hand else set()
        self._stepped = False
        count, self._count = self._count, self._count + 1
        return not count & (count - 1)

    def measure(self, call: BackwardCall) -> None:
        """Measure them; the caller's guards keep that out of what is recorded."""
        found = {self._sink.string(name): leaf for name, leaf in self._named(call)}
        write = partial(self._write, call.number)
        read(((name, (norm_of(one, wide(one)),)) for name, one in found.items() if is_plain(one)), write)
        there = {name: one for name, one in found.items() if is_far(one) and not is_capturing(one.device)}
        norms = ((name, (norm_of(one, wide(one)),)) for name, one in there.items())
        self._nonfinite.on_device.ask(norms, write)

    def _named(self, call: BackwardCall) -> Iterator[tuple[str, torch.Tensor]]:
        """The leaves by name; those without one by their place and size, for they may be new in each step."""
        nameless = 0
        for leaf in self._leaves(call):
            name = self._names.leaf(leaf)
            if name == NAMELESS:
                nameless += 1
                name = f"{NAMELESS} {nameless} of size {'x'.join(map(str, leaf.shape)) or 1}"
            yield name, leaf

    def _leaves(self, call: BackwardCall) -> Iterator[torch.Tensor]:
        for identity in call.walked.leaves if call.walked is not None else ():
            leaf = self._names.tensor(identity)
            is_one = isinstance(leaf, torch.nn.Parameter) or (leaf is not None and id(leaf) in self._targets)
            if leaf is not None and is_one and leaf.is_floating_point() and leaf.numel():
                yield leaf

    def _have_moved(self, call: BackwardCall) -> bool:
        """Whether any leaf was written, or is another, since the last derivative that was counted; where none ever is,
        it may be written by an alias of its `.data`, which has a version of its own."""
        is_new = not _states(self._leaves(call)) <= self._seen
        self._in_sight = self._in_sight or is_new
        return is_new or not self._in_sight

    def _steps(self, optimizer: Any) -> None:
        self._stepped, self._by_hand = True, False

    def _write(self, backward: int, name: int, numbers: list[float]) -> None:
        self._sink.add("buffer_size", (backward, name, repr(numbers[0]), _DERIVED))


def _states(leaves: Iterable[torch.Tensor]) -> set[tuple[int, int, int]]:
    """What tells that a tensor was not written: its version, and where its numbers are."""
    plain = (one for one in leaves if is_plain(one) or is_far(one))
    return {(id(one), one._version, one.data_ptr()) for one in plain}
