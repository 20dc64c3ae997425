"""Watches compiled autograd: what it captures, why, and which runs find their graph in its cache.

It is switched on for the whole program, with a compiler that runs a captured graph as it is, so no C++ compiler is
needed; where the program switches it on itself, with a compiler of its own, that one is watched instead.
"""

from __future__ import annotations

import contextlib
import sys
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from torch import fx

from gradscope.compilers.captured import described, steps_of
from gradscope.compilers.lines import Whose, stack_of_frames
from gradscope.model.compiled import Captured, CompiledRun, CompiledSize, CompiledStep
from gradscope.model.site import Stack
from gradscope.torch_internals.find import bound, replaced
from gradscope.torch_internals.lacks import require

Found = Captured | CompiledRun
_PLACE = "torch._dynamo.compiled_autograd"
_INSTANCE = f"{_PLACE}.AutogradCompilerInstance"


@dataclass(slots=True)
class _Capturing:
    """A capture from its beginning to its first run."""

    number: int
    stack: Stack
    backward: int | None
    sizes: tuple[int, ...]
    reason: str = ""
    used: frozenset[int] = frozenset()
    steps: tuple[CompiledStep, ...] = ()
    hooks: dict[int, int] = field(default_factory=dict)
    written: bool = False


class CompiledWatch:
    """`took` is called with each capture when it first runs, and with each run."""

    def __init__(
        self,
        took: Callable[[Found], None],
        fault: Callable[[Exception], None],
        whose: Whose,
        backward: Callable[[], int | None],
    ) -> None:
        """`backward` answers with the number of the backward call that runs now."""
        self._took, self._fault, self._whose, self._backward = took, fault, whose, backward
        self._captures = 0

    @contextlib.contextmanager
    def entered(self) -> Iterator[CompiledWatch]:
        """Switch compiled autograd on and look on. Raises UsageError when this torch has it elsewhere."""
        require("compiled autograd", "torch.compile")
        enable, log = bound(f"{_PLACE}._enable"), bound(f"{_PLACE}.verbose_log")
        set_logger = bound("torch._C._dynamo.compiled_autograd.set_verbose_logger")
        with contextlib.ExitStack() as stack:
            stack.enter_context(replaced(f"{_INSTANCE}.begin_capture", self._beginning))
            stack.enter_context(replaced(f"{_INSTANCE}.log_compile_reasons", self._reasoning))
            stack.enter_context(replaced(f"{_INSTANCE}.remove_unused_sizes", self._sizing))
            stack.enter_context(replaced(f"{_INSTANCE}.end_capture", self._ending))
            set_logger(log)  # torch says why it captures only to one who listens
            stack.callback(set_logger, None)
            stack.enter_context(enable(lambda graph: graph))
            yield self

    def _beginning(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def begin_capture(instance: Any, inputs: Any, sizes: Any, *rest: Any, **named: Any) -> Any:
            with self._noting():
                instance.gradscope = _Capturing(self._captures, self._stack(), self._backward(), tuple(sizes))
                instance.compiler_fn = self._compiling(instance)
                self._captures += 1
            return original(instance, inputs, sizes, *rest, **named)

        return begin_capture

    def _reasoning(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def log_compile_reasons(instance: Any, reasons: list[str]) -> Any:
            with self._noting():
                instance.gradscope.reason = reasons[-1].partition(": ")[2]  # those of all captures so far
            return original(instance, reasons)

        return log_compile_reasons

    def _sizing(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def remove_unused_sizes(instance: Any) -> Any:
            used = original(instance)
            with self._noting():
                instance.gradscope.used = frozenset(used)
            return used

        return remove_unused_sizes

    def _compiling(self, instance: Any) -> Callable[[fx.GraphModule], Any]:
        compiler, capturing = instance.compiler_fn, instance.gradscope

        def compile_graph(graph: fx.GraphModule) -> Any:
            with self._noting():
                capturing.steps, capturing.hooks = steps_of(graph.graph)
            return compiler(graph)

        return compile_graph

    def _ending(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def end_capture(instance: Any, outputs: Any) -> Any:
            run, compiled = original(instance, outputs)
            capturing = getattr(instance, "gradscope", None)
            return (run if capturing is None else self._running(capturing, run)), compiled

        return end_capture

    def _running(self, capturing: _Capturing, run: Callable[..., Any]) -> Callable[..., Any]:
        def run_captured(compiled: Any, inputs: Any, sizes: Any, scalars: Any, hooks: Any, packed: Any) -> Any:
            with self._noting():
                self._ran(capturing, sizes, hooks)
            return run(compiled, inputs, sizes, scalars, hooks, packed)

        skipped: Callable[..., Any] = bound("torch._dynamo.disable")(run_captured, recursive=False)
        return skipped

    def _ran(self, capturing: _Capturing, sizes: Any, hooks: Any) -> None:
        hit = capturing.written
        if not hit:
            capturing.written = True
            self._took(self._captured(capturing, hooks))
        used = tuple(int(size) for at, size in enumerate(sizes) if at in capturing.used)
        self._took(CompiledRun(capturing.number, hit, self._stack(), self._backward(), used))

    def _captured(self, capturing: _Capturing, hooks: Any) -> Captured:
        steps = list(capturing.steps)
        for position, place in capturing.hooks.items():
            if 0 <= place < len(hooks):
                label, stack = described(hooks[place], self._whose)
                steps[position] = replace(steps[position], label=label, stack=stack)
        sizes = tuple(CompiledSize(int(size), at in capturing.used) for at, size in enumerate(capturing.sizes))
        return Captured(capturing.number, capturing.reason, capturing.stack, tuple(steps), sizes, capturing.backward)

    def _stack(self) -> Stack:
        """Where the backward was called, without our own frames."""
        frames = traceback.StackSummary.extract(traceback.walk_stack(sys._getframe(2)), lookup_lines=False)
        return stack_of_frames(frames[::-1], self._whose)

    @contextlib.contextmanager
    def _noting(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            self._fault(error)
