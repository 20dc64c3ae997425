"""Sees every autograd node at the moment it is made.

The surprise: with anomaly mode on and its NaN check off, torch calls `torch.fx.traceback.format_stack` inside the
constructor of each C++ Node and keeps what it returns in `node.metadata["traceback_"]` until the node dies. We
return a token there, which carries what we know of the node.
"""

from __future__ import annotations

import itertools
import sys
import weakref
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar

import torch
import torch.fx.traceback as fx_traceback

from gradscope.probes.anomaly import Anomaly
from gradscope.probes.dynamo import skip, skip_methods
from gradscope.probes.faults import Faults
from gradscope.probes.function_calls import APPLY, FunctionCalls
from gradscope.probes.levels import Levels
from gradscope.probes.sink import Sink
from gradscope.probes.stacks import Stacks

if TYPE_CHECKING:
    from gradscope.probes.modules import Call
    from gradscope.probes.threads import Threads

KEY = "traceback_"  # torch's
_OWN_KEY = "gradscope"  # for nodes that already hold a stock traceback


class Token:
    """What is known of a node since its creation: plain data that dies with the node.

    It stands where torch expects a list of lines, so it can be iterated, measured, indexed and copied as one.
    """

    __slots__ = ("__weakref__", "call", "operator", "previous", "stack", "thread", "uid")

    stacks: ClassVar[Stacks]
    derived: ClassVar[bool] = False

    uid: int
    stack: int
    thread: int
    call: Call | None
    operator: int
    previous: int  # the operator before this node: the one that made a CopySlices

    # What most nodes have none of, and a DerivedToken may have.
    levels: int = 0
    parent: int = 0  # uid of the backward node that was being evaluated
    parent_name: int = 0
    parent_stack: int = 0  # its line in the forward

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


class DerivedToken(Token):
    """The token of a node made under a transform, or inside a backward."""

    __slots__ = ("levels", "parent", "parent_name", "parent_stack")

    derived = True

    levels: int
    parent: int
    parent_name: int
    parent_stack: int


def token_of(node: Any) -> Token | None:
    """The token of a node, None when it was made before the recording began."""
    metadata = node.metadata
    token = metadata.get(KEY)
    if isinstance(token, Token):
        return token
    token = metadata.get(_OWN_KEY)
    return token if isinstance(token, Token) else None


class Nodes:
    """Gives each node its token. `made_in_backward` counts the nodes made while the engine ran."""

    def __init__(
        self, sink: Sink, threads: Threads, stacks: Stacks, anomaly: Anomaly, faults: Faults, operators: bool
    ) -> None:
        self._sink, self._threads, self._stacks, self._faults = sink, threads, stacks, faults
        self.anomaly = anomaly
        self._levels = Levels(sink)
        self._calls = FunctionCalls(sink)
        self._uids = itertools.count(1)
        self._operators = operators
        self.made_in_backward: list[Any] = []
        self.newborn: list[weakref.ref[Token]] | None = None  # filled while somebody wants the nodes of a step
        self._format_stack = self._callback()
        self._original = fx_traceback.format_stack
        faults.switch("nodes", self.__exit__)

    def __enter__(self) -> Nodes:
        skip(self._format_stack)
        skip_methods(Token)
        skip_methods(Levels)
        skip_methods(FunctionCalls)
        skip_methods(Stacks)
        Token.stacks = self._stacks
        fx_traceback.format_stack = self._format_stack
        self.anomaly.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self.anomaly.__exit__()
        fx_traceback.format_stack = self._original

    def youngest(self) -> int:
        """A uid above those of all nodes so far."""
        return next(self._uids)

    def adopt(self, node: Any) -> Token:
        """Give a token to a node that was made before the recording began."""
        token = self._blank()
        node.metadata[KEY if KEY not in node.metadata else _OWN_KEY] = token
        return token

    def _blank(self) -> Token:
        token = Token()
        token.uid = next(self._uids)
        token.stack = token.thread = token.operator = token.previous = 0
        token.call = None
        return token

    def _callback(self) -> Callable[[], Any]:
        """The function that torch will call for every node: hot, so what it uses is bound here."""
        original = fx_traceback.format_stack
        threads, take, getframe, uids = self._threads, self._stacks.take, sys._getframe, self._uids
        current_node, level = torch._C._current_autograd_node, torch._C._functorch.maybe_current_level
        tasks = threads.tasks
        operators, faults, blank, called = self._operators, self._faults, self._blank, self._calls.note

        def format_stack() -> Any:
            if fx_traceback.should_preserve_node_meta:
                return original()  # a compiler is tracing and reads torch's own meaning
            try:
                thread = threads.current
                frame = getframe(0).f_back  # none on the engine's own threads
                if frame is None:
                    tasks.adopt(thread)
                node = current_node()
                token = Token() if node is None and level() is None else self._derive(node)
                token.uid = next(uids)
                token.thread = thread.number
                token.call = thread.call
                token.operator = 0
                token.previous = thread.operator
                token.stack = take(frame, thread.base)
                if frame is not None and frame.f_code is APPLY:
                    called(frame, token.stack)
                if self.newborn is not None:
                    self.newborn.append(weakref.ref(token))
                if operators:
                    thread.pending.append(token)
            except Exception as error:
                faults.note("nodes", error)
                return blank()
            return token

        return format_stack

    def _derive(self, node: Any) -> DerivedToken:
        """Note the transforms, and the backward node whose evaluation makes this one."""
        token = DerivedToken()
        token.uid = next(self._uids)
        token.levels = self._levels.take()
        token.parent = token.parent_name = token.parent_stack = 0
        if node is not None:
            parent = token_of(node)
            token.parent_name = self._sink.string(node.name())
            if parent is not None:
                token.parent = parent.uid
                token.parent_stack = parent.parent_stack or parent.stack
            self.made_in_backward.append(token)
        return token
