"""Finds the tensors that outlive the torch.func transform which made them, and what holds them.

The surprise: nothing tells what a transform has made, and all tensors of a program may be many. So what was made just
now is looked at, a bounded number of objects. All are searched at the first transform of a recording, and at its end
for transforms so long that the collector ran its full course in each.
"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch

from gradscope.probes.core.context import Context
from gradscope.probes.core.node_token import token_of
from gradscope.probes.core.referrers import Referrers, is_torchs
from gradscope.probes.core.young_objects import times_aged, young_generations
from gradscope.probes.graph.node_creation import node_creation
from gradscope.torch_internals.guards import no_function
from gradscope.torch_internals.tensors import is_dead, level_of

_LOOKS, _TRIES = 3, 12  # calls of one transform that are looked at, and at which it is tried: steps repeat
_MOST_HELD = 64  # tensors of a run whose holder is looked for, among all objects


@dataclass(frozen=True, slots=True)
class Call:
    """A call of an outermost transform that is looked at. `older` are tensors by id() that outlived earlier ones."""

    number: int
    first: int  # uid of a node, below those of all that are made in it
    aged: int | None
    older: dict[int, weakref.ref[Any]]


class EscapedTensors:
    """Looks at the first calls of each transform. `number` is the transform's."""

    def __init__(self, context: Context) -> None:
        self._sink, self._nodes = context.sink, context.get(node_creation)
        self._call: Call | None = None
        self._left: tuple[int, list[weakref.ref[Any]]] = (0, [])  # what outlived the call that ended last
        self._looks: dict[int, int] = {}
        self._tries: dict[int, int] = {}
        self._before: dict[int, weakref.ref[Any]] = {}  # by id(): escaped before the recording's first transform
        self._unseen: dict[int, tuple[int, int]] = {}  # by transform never seen whole: uids around its nodes
        self._noted: set[tuple[int, ...]] = set()
        self._held = 0

    def begins(self, number: int, others: bool) -> None:
        """A transform begins that no other is around; whether `others` run in other threads."""
        self.look(others)
        self._call = None
        if not self._tries:
            self._before = _weakly(_outlived(gc.get_objects(), others))
        tries = self._tries[number] = self._tries.get(number, 0) + 1
        if tries <= _TRIES and self._looks.get(number, 0) < _LOOKS:
            self._call = Call(number, self._nodes.youngest(), times_aged(), _weakly(_young(others)))

    def ends(self, number: int, others: bool) -> None:
        """It has ended: torch's own frames still hold some of what it made, so those are asked for later."""
        call, self._call = self._call, None
        if call is None or call.number != number:
            return
        outlived = _young(others)
        self._left = number, [weakref.ref(one) for one in outlived if not _is_among(call.older, one)]
        if call.aged is not None and call.aged == times_aged():
            self._looks[number] = self._looks.get(number, 0) + 1
            self._unseen.pop(number, None)
        elif number not in self._looks:
            self._unseen[number] = call.first, self._nodes.youngest()

    def look(self, others: bool) -> None:
        """Note what is still there of what the last call left."""
        (number, left), self._left = self._left, (0, [])
        alive = [tensor for one in left if (tensor := one()) is not None]
        dead = _outlived(alive, others)
        del alive
        for tensor in dead:
            self._note(number, tensor, dead)

    def finish(self, others: bool) -> None:
        """The recording ends: search everything for what the transforms have left that were never seen whole."""
        self.look(others)
        if self._unseen:
            dead = _outlived(gc.get_objects(), others)
            for tensor in dead:
                number = self._made_by(tensor)
                if number is not None:
                    self._note(number, tensor, dead)

    def _made_by(self, tensor: torch.Tensor) -> int | None:
        """The unseen transform that a tensor comes from; without a node only where there is but one transform."""
        if _is_among(self._before, tensor):
            return None
        token = _token(tensor)
        if token is None:
            return next(iter(self._unseen)) if len(self._tries) == 1 else None
        return next((number for number, (low, high) in self._unseen.copy().items() if low < token.uid < high), None)

    def _note(self, number: int, tensor: torch.Tensor, ours: list[torch.Tensor]) -> None:
        self._held += 1
        known = _kept(tensor, ours) if self._held <= _MOST_HELD else None
        if known is None:
            return  # a local of a frame that still runs, or held by torch itself
        name, holder = known
        token = _token(tensor)
        words = (self._sink.string(name), 0 if holder is None else self._sink.string(holder))
        place = (0 if token is None else token.stack, *words)
        if place not in self._noted:
            self._noted.add(place)
            self._sink.add("escaped", (number, *place))


def _token(tensor: torch.Tensor) -> Any:
    with no_function():
        node = tensor.grad_fn
    return None if node is None else token_of(node)


def _weakly(tensors: list[torch.Tensor]) -> dict[int, weakref.ref[Any]]:
    return {id(one): weakref.ref(one) for one in tensors}


def _is_among(older: dict[int, weakref.ref[Any]], tensor: torch.Tensor) -> bool:
    known = older.get(id(tensor))
    return known is not None and known() is tensor


def _young(others: bool) -> list[torch.Tensor]:
    lists = (_outlived(gc.get_objects(generation=generation), others) for generation in young_generations())
    return [one for found in lists for one in found]


def _outlived(objects: Iterable[Any], others: bool) -> list[torch.Tensor]:
    """Tensors whose transform is over, when none runs in this thread. Torch marks only those of grad and jvp."""
    tensors = (one for one in objects if type(one) is torch.Tensor)
    return [one for one in tensors if is_dead(one) or (not others and level_of(one) > 0)]


def _kept(tensor: torch.Tensor, ours: list[torch.Tensor]) -> tuple[str, str | None] | None:
    """What the script keeps a tensor as, and the name by which its code gets there."""
    for holder in gc.get_referrers(tensor):
        if holder is ours:
            continue
        kind = type(holder).__name__
        if kind in ("list", "tuple", "cell") and is_torchs(holder):
            continue
        if kind in ("list", "tuple", "set", "deque"):
            name = next((name for _, name, _ in Referrers((ours,)).of(holder)), None)
            return (f"in a {kind}" if name is None else f"in the {kind} {name}"), name
        if kind == "cell":
            name = next((name for _, name, _ in Referrers((ours,)).in_cell(holder)), None)
            if name is not None:
                return name, name
            continue
        names = holder if type(holder) is dict else getattr(holder, "__dict__", None)
        found = next((str(key) for key, value in names.items() if value is tensor), None) if names else None
        if found is not None:
            return found, found
    return None
