"""Notes the exceptions that nobody caught, with the stack that they came from."""

from __future__ import annotations

from typing import Any

from gradscope.probes.core.context import Context
from gradscope.probes.core.traceback_filter import family, is_ours, links
from gradscope.probes.graph.backward_calls import BackwardCalls
from gradscope.probes.graph.function_classes import FunctionClasses
from gradscope.torch_internals.function_calls import CALLS


class UncaughtExceptions:
    """Writes uncaught exceptions down, each with the backward call that it came out of, if it came out of one."""

    def __init__(self, context: Context) -> None:
        self._sink, self._threads, self._stacks = context.sink, context.threads, context.stacks
        self._uncaught = context.events.exception_uncaught
        self._backward_calls, self._functions = context.get(BackwardCalls), FunctionClasses(context.sink)

    def note(self, error: BaseException) -> None:
        """Note one, in the thread that it ended. SystemExit is no failure."""
        if isinstance(error, SystemExit):
            return
        stack = self._stack(error)
        row = (self._sink.string(type(error).__name__), self._sink.string(str(error)), stack)
        self._sink.add("failure", (*row, self._threads.current.number, self._backward(error)))
        function = _failing_function(error)
        if function is not None:
            self._sink.add("failing_function", (self._functions.of_class(function),))
        for tell in self._uncaught.copy():
            tell(error, stack)

    def _backward(self, error: BaseException) -> int | None:
        """The backward call that it, or what led to it, came out of."""
        for one in family(error):
            number = self._backward_calls.raised.get(id(one))
            if number is not None and any(link.tb_frame.f_code is self._backward_calls.code for link in links(one)):
                return number
        return None

    def _stack(self, error: BaseException) -> int:
        """The stack of its traceback, ours left out."""
        stack = 0
        for link in links(error):
            code = link.tb_frame.f_code
            if not is_ours(code):
                stack = self._stacks.push(stack, code, link.tb_lasti)
        return stack


def _failing_function(error: BaseException) -> Any:
    """The class of the outermost custom Function whose call has raised."""
    innermost = None
    for link in links(error):
        called, innermost = CALLS.of(link.tb_frame), link
        if called is not None:
            return called.function
    return None if innermost is None else CALLS.failed(innermost)
