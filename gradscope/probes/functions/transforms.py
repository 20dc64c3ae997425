"""Sees torch.func transforms begin and end: every level that is pushed, by which call, and what escapes from it.

The surprise: torch pushes a level through a function that it looks up in its module's names, so another one can stand
there; Dynamo treats the context managers around these calls by name and never looks inside.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import torch

from gradscope.probes.core.context import Context
from gradscope.probes.functions.escaped_tensors import EscapedTensors
from gradscope.torch_internals.dynamo import skip
from gradscope.torch_internals.find import Replacement

# what pushes a level and pops it, by kind
PUSHES = {
    "Vmap": "torch._functorch.vmap._vmap_{}_nesting",
    "Grad": "torch._functorch.eager_transforms._grad_{}_nesting",
    "Jvp": "torch._functorch.eager_transforms._jvp_{}_nesting",
    "Functionalize": "torch._functorch.eager_transforms._func_{}_nesting",
}


class Transforms:
    """Records each distinct transform once, and how often it was called."""

    def __init__(self, context: Context) -> None:
        self._sink, self._threads = context.sink, context.threads
        self._stacks, self._faults = context.stacks, context.faults
        self._numbers: dict[tuple[object, ...], int] = {}
        self._calls: dict[int, int] = {}
        self._escaped = EscapedTensors(context)
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
        self._escaped.finish(self._is_any_open())
        for place, number in self._numbers.copy().items():
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
        if not running:
            self._escaped.begins(number, self._is_any_open())
        running.append(number)
        thread.transforms = len(running)

    def _end(self) -> None:
        thread = self._threads.current
        running = self._open.get(thread.number)
        if not running:
            return  # it began before the recording
        number = running.pop()
        thread.transforms = len(running)
        if not running:
            self._escaped.ends(number, self._is_any_open())

    def _is_any_open(self) -> bool:
        """Whether one runs, asked while none does in this thread: those of others, whose tensors may be alive."""
        return any(list(self._open.values()))
