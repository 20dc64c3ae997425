"""Sees torch.func transforms begin and end: every level that is pushed, by which call, and what escapes from it.

The surprise: torch pushes a level through a function that it looks up in its module's names, so another one can stand
there; Dynamo treats the context managers around these calls by name and never looks inside.
"""

from __future__ import annotations

import gc
import sys
import weakref
from collections.abc import Callable
from typing import Any

import torch

from gradscope.probes.core.context import Context
from gradscope.probes.core.node_token import token_of
from gradscope.probes.core.referrers import Referrers, is_torchs
from gradscope.torch_internals.dynamo import skip
from gradscope.torch_internals.find import Replacement
from gradscope.torch_internals.guards import no_function
from gradscope.torch_internals.tensors import is_dead, level_of

# what pushes a level and pops it, by kind
PUSHES = {
    "Vmap": "torch._functorch.vmap._vmap_{}_nesting",
    "Grad": "torch._functorch.eager_transforms._grad_{}_nesting",
    "Jvp": "torch._functorch.eager_transforms._jvp_{}_nesting",
    "Functionalize": "torch._functorch.eager_transforms._func_{}_nesting",
}
_LOOKS = 3  # how often one transform is searched for what escaped: steps repeat


class Transforms:
    """Records each distinct transform once, and how often it was called."""

    def __init__(self, context: Context) -> None:
        self._sink, self._threads = context.sink, context.threads
        self._stacks, self._faults = context.stacks, context.faults
        self._numbers: dict[tuple[object, ...], int] = {}
        self._calls: dict[int, int] = {}
        self._ended: int | None = None  # an outermost one, not yet searched for what escaped from it
        self._escaped: set[tuple[int, ...]] = set()
        self._older: dict[int, weakref.ref[Any]] = {}  # by id(): escaped before the first transform
        self._open: dict[int, list[int]] = {}  # by thread: the transforms that run, outermost first
        self._replaced: list[Replacement] = []

    def __enter__(self) -> Transforms:
        for kind, name in PUSHES.items():
            push, pop = Replacement(name.format("increment")), Replacement(name.format("decrement"))
            self._replaced += (push, pop)
            push.put(self._pushing(kind, push.original))
            pop.put(self._popping(pop.original))
        return self

    def __exit__(self, *error: object) -> None:
        for one in self._replaced:
            one.restore()
        self._look_for_escaped()
        for place, number in self._numbers.items():
            self._sink.add("transform", (number, *place, self._calls[number]))  # with its final count

    def _pushing(self, kind: str, original: Callable[..., int]) -> Callable[..., int]:
        def push(*arguments: Any) -> int:
            level = original(*arguments)
            if not torch.compiler.is_compiling():
                try:
                    self._begin(kind, level, arguments, sys._getframe(1))
                except Exception as error:
                    self._faults.note("transforms", error)
            return level

        skip(push)
        return push

    def _popping(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def pop(*arguments: Any) -> Any:
            answer = original(*arguments)
            if not torch.compiler.is_compiling():
                try:
                    self._end()
                except Exception as error:
                    self._faults.note("transforms", error)
            return answer

        skip(pop)
        return pop

    def _begin(self, kind: str, level: int, arguments: tuple[Any, ...], frame: Any) -> None:
        thread = self._threads.current
        running = self._open.setdefault(thread.number, [])
        if not running:
            if not self._numbers:
                self._older = {id(one): weakref.ref(one) for one in self._outlived()}
            self._look_for_escaped()
        batch, randomness = arguments if kind == "Vmap" else (None, None)
        place = (
            running[-1] if running else 0,
            kind,
            level,
            self._stacks.take(frame, thread.base),
            batch if isinstance(batch, int) else None,
            0 if randomness is None else self._sink.string(randomness),
        )
        number = self._numbers.get(place)
        if number is None:
            number = self._numbers[place] = len(self._numbers) + 1
            self._sink.add("transform", (number, *place, 1))
        self._calls[number] = self._calls.get(number, 0) + 1
        running.append(number)
        thread.transforms = len(running)

    def _end(self) -> None:
        thread = self._threads.current
        running = self._open.get(thread.number)
        if not running:
            return  # it began before the recording
        number = running.pop()
        thread.transforms = len(running)
        if not running and self._calls[number] <= _LOOKS:
            self._ended = number

    def _look_for_escaped(self) -> None:
        """Note the tensors that outlive the transform which made them, where they were made, and what holds them.

        Asked when the next one begins, or at the end: while a transform returns, torch's own frames still hold some.
        """
        number, self._ended = self._ended, None
        if number is not None:
            dead = self._outlived()
            for tensor in dead:
                known = self._older.get(id(tensor))
                if known is None or known() is not tensor:
                    self._note_escaped(number, tensor, dead)

    def _outlived(self) -> list[torch.Tensor]:
        """Tensors whose transform is over, when none runs in this thread. Torch marks only those of grad and jvp."""
        others = any(self._open.values())  # of other threads, whose tensors may be alive
        tensors = (one for one in gc.get_objects() if type(one) is torch.Tensor)
        return [one for one in tensors if is_dead(one) or (not others and level_of(one) > 0)]

    def _note_escaped(self, number: int, tensor: torch.Tensor, ours: list[torch.Tensor]) -> None:
        with no_function():
            node = tensor.grad_fn
        token = None if node is None else token_of(node)
        known = _kept(tensor, ours)
        if known is None:
            return  # a local of a frame that still runs, or held by torch itself
        name, holder = known
        words = (self._sink.string(name), 0 if holder is None else self._sink.string(holder))
        place = (0 if token is None else token.stack, *words)
        if place not in self._escaped:
            self._escaped.add(place)
            self._sink.add("escaped", (number, *place))


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
