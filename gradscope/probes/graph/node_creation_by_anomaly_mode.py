"""Sees every node through anomaly mode, below torch 2.14.

The surprise: with anomaly mode on and its NaN check off, torch calls `torch.fx.traceback.format_stack` inside the
constructor of each C++ Node and keeps what it returns in `node.metadata["traceback_"]` until the node dies. We
return a token there. What else the mode does is hidden from the program: its warning, its hint, and the reference to
its parent that it gives to each node made in a backward.
"""

from __future__ import annotations

import sys
import warnings
import weakref
from collections.abc import Callable
from typing import Any

import torch.fx.traceback as fx_traceback

from gradscope.probes.core.node_token import HOOK, KEY, OWN_KEY, DerivedToken, Token
from gradscope.probes.graph.anomaly_mode import AnomalyMode
from gradscope.probes.graph.node_creation_base import NodeCreation
from gradscope.probes.graph.parent_references import PARENT, ParentReferences
from gradscope.torch_internals.dynamo import skip
from gradscope.torch_internals.find import Replacement
from gradscope.torch_internals.hints import WITH_ANOMALY_MODE, hint_without_anomaly_mode
from gradscope.torch_internals.running import current_level, current_node

# What torch warns of when a backward raises with the mode on: the node, then each one it was made by in a backward
# (python_anomaly_mode.cpp; seen where a signal handler raises before a node's reference to its parent is dropped).
_OF_THE_MODE = r"\s*(Error detected in|Previous calculation was induced by)"


class NodeCreationByAnomalyMode(NodeCreation):
    """Keeps anomaly mode on, and the program's own switch apart from it."""

    def __enter__(self) -> NodeCreationByAnomalyMode:
        super().__enter__()
        self._anomaly, self._left = AnomalyMode(self.youngest), False
        self._parents = ParentReferences()
        self._hint = hint_without_anomaly_mode()
        self._place = Replacement(HOOK)
        callback = self._callback()
        skip(callback)
        warnings.filterwarnings("ignore", message=_OF_THE_MODE)
        self._filter = warnings.filters[0]
        self._show_again()
        self._place.put(callback)
        self._anomaly.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        if not self._left:
            self._left = True
            self.deep.leave()
            self._anomaly.__exit__()
            self._place.restore()
            self._show_again()

    def follow(self, recorded: bool) -> None:
        """Leave the mode to the program while nothing is recorded."""
        if not self._left:
            self._anomaly.want(recorded)

    def engine_begins(self) -> None:
        """Torch's own warning says that anomaly mode is on; the script must see it only when it asked for it.

        Our filter is there only while the engine runs, once for each run: the script may look at its filters.
        """
        if self._anomaly.on:
            self._show_again()
        else:
            warnings.filters.insert(0, self._filter)  # type: ignore[attr-defined]

    def engine_ends(self) -> None:
        """Take one copy of our filter out."""
        for place, one in enumerate(warnings.filters):
            if one is self._filter:
                del warnings.filters[place]  # type: ignore[attr-defined]
                return

    def _show_again(self) -> None:
        """Take every copy of our filter out: each list of filters that the script made may have got its own."""
        warnings.filters[:] = [one for one in warnings.filters if one is not self._filter]  # type: ignore[index]

    def mend(self, error: BaseException) -> None:
        """Give torch's in-place error the hint of a run without anomaly mode."""
        words = error.args[0] if isinstance(error, RuntimeError) and error.args else None
        if not self._anomaly.on and isinstance(words, str):
            error.args = (words.replace(WITH_ANOMALY_MODE, self._hint), *error.args[1:])

    def release(self) -> None:
        """Take the references to their parents from the nodes that were made in a backward."""
        if made := self.made_in_backward:
            super().release()
            self._parents.release([token for token in made if not self._anomaly.made(token.uid)])

    def walked(self, live: list[Any], tokens: list[Token]) -> None:
        """Where the program has not asked for them when a node was made, torch must find no traceback of it and no
        parent: it prints them when the node fails.
        """
        super().walked(live, tokens)
        if self._anomaly.on:
            self._hide_tracebacks(live)
        elif DerivedToken in set(map(type, tokens)):
            for node, token in zip(live, tokens, strict=True):
                if token.parent_name and not self._anomaly.made(token.uid):
                    node.metadata.pop(PARENT, None)

    def _hide_tracebacks(self, nodes: list[Any]) -> None:
        """Take tokens, of nodes and of those that they were made by, out of torch's sight."""
        while nodes:
            metadata = [node.metadata for node in nodes]
            for one in metadata:
                token = one.get(KEY)
                if isinstance(token, Token) and not self._anomaly.made(token.uid):
                    one[OWN_KEY] = one.pop(KEY)
                    one.pop(PARENT, None)
            nodes = [one[PARENT] for one in metadata if PARENT in one]

    def _callback(self) -> Callable[[], Any]:
        """The function that torch will call for every node: hot, so what it uses is bound here."""
        original = self._place.original
        threads, take, getframe, uids = self._threads, self._stacks.take, sys._getframe, self._uids
        node_that_runs, level, tasks = current_node, current_level, self._threads.tasks
        operators, faults, blank, deep = self._operators, self._faults, self._blank, self.deep

        def format_stack() -> Any:
            if fx_traceback.should_preserve_node_meta:
                return original()  # a compiler is tracing and reads torch's own meaning
            try:
                thread = threads.current
                frame = getframe(0).f_back  # none on the engine's own threads
                if frame is None:
                    tasks.adopt(thread)
                node = node_that_runs()
                token = Token() if node is None and level() is None else self._derive(node)
                token.uid = next(uids)
                token.thread = thread.number
                token.call = thread.call
                token.operator = 0
                token.previous = thread.operator
                token.stack = take(frame, thread.base)
                if self.newborn is not None:
                    self.newborn.append(weakref.ref(token))
                if operators:
                    thread.pending.append(token)
                if token.uid >= deep.due:
                    deep.passed(token)
            except Exception as error:
                faults.note("nodes", error)
                return blank()
            return token

        return format_stack
