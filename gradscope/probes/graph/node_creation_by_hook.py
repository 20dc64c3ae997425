"""Sees every node through torch's own hook for their creation, from torch 2.14 on.

The surprises: the hook is called when the node is complete, hence after the operator that made it has run, and it is
one of the running thread alone. Nodes cannot be referenced weakly, so the token stands in the node's metadata.
"""

from __future__ import annotations

import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch.fx.traceback as fx_traceback

from gradscope.probes.core.context import Context
from gradscope.probes.core.node_token import HOOK, KEY, Token
from gradscope.probes.graph.node_creation_base import NodeCreation
from gradscope.torch_internals.dynamo import skip
from gradscope.torch_internals.find import Replacement
from gradscope.torch_internals.running import current_level, current_node

_UNNUMBERED = 2**64 - 1  # the sequence number of an AccumulateGrad, which is made before the operator runs


class _Mine(threading.local):
    """Of one thread: whether our hook is on its stack of hooks, and how many of the program's are above it."""

    pushed = False
    above = 0


class NodeCreationByHook(NodeCreation):
    """Pushes the hook in each thread; while nothing is recorded it is not there, or does nothing."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        context.events.thread_begins.append(self.in_thread)

    def __enter__(self) -> NodeCreationByHook:
        super().__enter__()
        self._push, self._pop = Replacement(HOOK), Replacement(HOOK.replace("_push_", "_pop_"))
        self._mine, self._recorded, self._left = _Mine(), True, False
        self._hook = self._callback()
        skip(self._hook)
        self._push.put(self._counting(self._push.original, 1))
        self._pop.put(self._counting(self._pop.original, -1))
        self._put_on()
        self._lines = Replacement("torch.fx.traceback.format_stack")
        self._lines.put(self._as_in_a_plain_run(self._lines.original))
        return self

    def __exit__(self, *error: object) -> None:
        if not self._left:
            self._left, self._recorded = True, False  # it goes on doing nothing where it cannot be taken off
            self.deep.leave()
            self._take_off()
            self._lines.restore()
            self._push.restore()
            self._pop.restore()

    def follow(self, recorded: bool) -> None:
        """Take this thread's hook off while nothing is recorded; other threads' do nothing."""
        self._recorded = recorded and not self._left
        (self._put_on if self._recorded else self._take_off)()

    @contextmanager
    def in_thread(self) -> Iterator[None]:
        """See the nodes of a thread that begins."""
        if not self._left:
            self._put_on()
        try:
            yield
        finally:
            self._take_off()

    def _put_on(self) -> None:
        if not self._mine.pushed:
            self._push.original(self._hook)
            self._mine.pushed, self._mine.above = True, 0

    def _take_off(self) -> None:
        """Torch takes the last hook off: below one of the program's ours must stay."""
        if self._mine.pushed and not self._mine.above:
            self._pop.original()
            self._mine.pushed = False

    def _counting(self, original: Callable[..., Any], step: int) -> Callable[..., Any]:
        """Torch's function, asked by the program: count its hooks above ours."""
        mine = self._mine

        def counted(*arguments: Any) -> Any:
            answer = original(*arguments)
            if mine.pushed:
                mine.above = max(mine.above + step, 0)
            return answer

        skip(counted)
        return counted

    def _as_in_a_plain_run(self, original: Callable[[], Any]) -> Callable[[], Any]:
        """What the program's own anomaly mode asks for each node: the stack without the frames that run the program."""
        threads, take, lines = self._threads, self._stacks.take, self._stacks.lines

        def format_stack() -> Any:
            frame = sys._getframe(0).f_back
            if fx_traceback.should_preserve_node_meta or frame is None:
                return original()
            return lines(take(frame, threads.current.base))

        skip(format_stack)
        return format_stack

    def _callback(self) -> Callable[[Any], None]:
        """The function that torch will call for every node: hot, so what it uses is bound here."""
        threads, take, getframe, uids = self._threads, self._stacks.take, sys._getframe, self._uids
        node_that_runs, level, tasks = current_node, current_level, self._threads.tasks
        operators, faults, blank, deep = self._operators, self._faults, self._blank, self.deep

        def saw(node: Any) -> None:
            if not self._recorded or fx_traceback.should_preserve_node_meta:
                return  # a compiler is tracing
            try:
                thread = threads.current
                frame = getframe(0).f_back  # none on the engine's own threads
                if frame is None:
                    tasks.adopt(thread)
                parent = node_that_runs()
                token = Token() if parent is None and level() is None else self._derive(parent)
                token.uid = next(uids)
                token.thread = thread.number
                token.call = thread.call
                token.operator = token.previous = thread.maker
                token.stack = take(frame, thread.base)
                if self.newborn is not None:
                    self.newborn.append(weakref.ref(token))
                if operators and node._sequence_nr() == _UNNUMBERED:
                    thread.pending.append(token)
                if token.uid >= deep.due:
                    deep.made(node, token)
            except Exception as error:
                faults.note("nodes", error)
                token = blank()
            node.metadata[KEY] = token

        return saw
