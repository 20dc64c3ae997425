"""Sees every autograd node at the moment it is made.

The surprise: with anomaly mode on and its NaN check off, torch calls `torch.fx.traceback.format_stack` inside the
constructor of each C++ Node and keeps what it returns in `node.metadata["traceback_"]` until the node dies. We
return a token there, which carries what we know of the node.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch.fx.traceback as fx_traceback

from gradscope.probes.anomaly import Anomaly
from gradscope.probes.dynamo import skip, skip_methods
from gradscope.probes.faults import Faults
from gradscope.probes.levels import Levels
from gradscope.probes.modules import Call
from gradscope.probes.sink import Sink
from gradscope.probes.stacks import Stacks
from gradscope.probes.threads import Threads

KEY = "traceback_"  # torch's
_OWN_KEY = "gradscope"  # for nodes that already hold a stock traceback


class Token:
    """What is known of a node since its creation: plain data that dies with the node.

    It stands where torch expects a list of lines, so it can be iterated, measured, indexed and copied as one.
    """

    __slots__ = (
        "__weakref__",
        "call",
        "levels",
        "operator",
        "parent",
        "parent_name",
        "parent_stack",
        "previous",
        "stack",
        "stacks",
        "thread",
        "uid",
    )

    uid: int
    stack: int
    thread: int
    call: Call | None
    levels: int
    operator: int
    previous: int  # the operator before this node: the one that made a CopySlices
    parent: int  # uid of the backward node that was being evaluated, 0 for none
    parent_name: int
    parent_stack: int
    stacks: Stacks

    def copy(self) -> list[str]:
        """The creation stack's lines, outermost first, as stock anomaly mode would hold them."""
        return self.stacks.lines(self.stack)

    def __iter__(self) -> Iterator[str]:
        return iter(self.copy())

    def __len__(self) -> int:
        return len(self.copy())

    def __bool__(self) -> bool:  # else asking costs a formatted stack
        return True

    def __getitem__(self, index: Any) -> Any:
        return self.copy()[index]


def token_of(node: Any) -> Token | None:
    """The token of a node, None when it was made before the recording began."""
    metadata = node.metadata
    token = metadata.get(KEY)
    if type(token) is Token:
        return token
    token = metadata.get(_OWN_KEY)
    return token if type(token) is Token else None


class Nodes:
    """Gives each node its token. `made_in_backward` counts the nodes made while the engine ran."""

    def __init__(
        self, sink: Sink, threads: Threads, stacks: Stacks, anomaly: Anomaly, faults: Faults, operators: bool
    ) -> None:
        self._sink, self._threads, self._stacks, self._faults = sink, threads, stacks, faults
        self.anomaly = anomaly
        self._levels = Levels(sink)
        self._uids = itertools.count(1)
        self._operators = operators
        self._last = self._blank()
        self.made_in_backward: list[Any] = []
        self._format_stack = self._callback()

    def __enter__(self) -> Nodes:
        skip(self._format_stack)
        skip_methods(Token)
        skip_methods(Levels)
        skip_methods(Stacks)
        self._original = fx_traceback.format_stack
        fx_traceback.format_stack = self._format_stack
        self.anomaly.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self.anomaly.__exit__()
        fx_traceback.format_stack = self._original

    def youngest(self) -> int:
        """The uid of about the youngest node."""
        return self._last.uid

    def adopt(self, node: Any) -> Token:
        """Give a token to a node that was made before the recording began."""
        token = self._blank()
        node.metadata[KEY if KEY not in node.metadata else _OWN_KEY] = token
        return token

    def _blank(self) -> Token:
        token = Token()
        token.uid = next(self._uids)
        token.stack = token.thread = token.levels = token.operator = token.previous = 0
        token.parent = token.parent_name = token.parent_stack = 0
        token.call = None
        token.stacks = self._stacks
        return token

    def _callback(self) -> Callable[[], Any]:
        """The function that torch will call for every node: hot, so what it uses is bound here."""
        original = fx_traceback.format_stack
        threads, stacks, take, levels = self._threads, self._stacks, self._stacks.take, self._levels.take
        uids, current_node, level = self._uids, torch._C._current_autograd_node, torch._C._functorch.maybe_current_level
        getframe, operators, faults = sys._getframe, self._operators, self._faults

        def format_stack() -> Any:
            if fx_traceback.should_preserve_node_meta:
                return original()  # a compiler is tracing and reads torch's own meaning
            token = Token()
            try:
                thread = threads.current
                token.stacks = stacks
                token.uid = next(uids)
                token.thread = thread.number
                token.call = thread.call
                token.previous = thread.operator
                token.operator = 0
                token.stack = take(getframe(1), thread.base)
                token.levels = 0 if level() is None else levels()
                node = current_node()
                if node is None:
                    token.parent = token.parent_name = token.parent_stack = 0
                else:
                    self._derive(token, node)
                self._last = token
                if operators:
                    thread.pending.append(token)
            except Exception as error:
                faults.note("nodes", error)
                return self._blank()
            return token

        return format_stack

    def _derive(self, token: Token, node: Any) -> None:
        """Note the backward node whose evaluation makes this one."""
        parent = token_of(node)
        token.parent = 0 if parent is None else parent.uid
        token.parent_name = self._sink.string(node.name())
        token.parent_stack = 0 if parent is None else (parent.stack if not parent.parent_stack else parent.parent_stack)
        self.made_in_backward.append(token)
