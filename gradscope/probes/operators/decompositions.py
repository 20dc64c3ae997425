"""Looks away from the nodes that torch computes by another formula while a dispatch mode is on.

The surprise: there it treats every tensor as a subclass whose values it cannot read. Compared over all operators that
torch has samples of, that moves the last bit of two kinds of gradients, and the program must get the bits that it gets
without us.
"""

from __future__ import annotations

from typing import Any

from gradscope.probes.core.backward_call import BackwardCall
from gradscope.probes.core.context import Context
from gradscope.probes.core.probe import Watcher
from gradscope.probes.core.thread_state import Thread
from gradscope.probes.operators.recorder import OperatorRecorder
from gradscope.torch_internals.dynamo import skip, skip_methods

_OTHERWISE = frozenset(("ProdBackward0", "ProdBackward1", "MaskedFillBackward1"))
_GRAPHS = 1024  # graphs of which it is kept in mind whether they have such nodes


class Decompositions(Watcher):
    """Takes our dispatch mode off around each such node."""

    probe = "otherwise"

    def __init__(self, context: Context) -> None:
        self._operations, self._faults = context.get(OperatorRecorder), context.faults
        self._places: dict[int, list[int]] = {}  # by graph: the numbers of its nodes
        self._handles: dict[int, list[Any]] = {}  # by call
        self._away = False
        skip_methods(Decompositions)
        self._enter, self._leave = self._hooks()

    def before(self, call: BackwardCall, thread: Thread) -> None:
        """Put a hook before and after these nodes."""
        if call.compiled or call.walked is None:
            return
        graph = call.walked.graph
        places = self._places.get(graph)
        if places is None:
            if len(self._places) >= _GRAPHS:
                self._places.clear()
            places = [number for number, node in enumerate(call.live) if type(node).__name__ in _OTHERWISE]
            self._places[graph] = places
        if places:
            handles = self._handles[call.number] = []
            for number in places:
                handles.append(call.live[number].register_prehook(self._enter))
                handles.append(call.live[number].register_hook(self._leave))

    def _hooks(self) -> tuple[Any, Any]:
        def enter(gradients: Any) -> None:
            try:
                self._away = self._operations.is_alone()
                if self._away:
                    self._operations.pause()
            except Exception as error:
                self._faults.note(self.probe, error)

        def leave(passed: Any, received: Any) -> None:
            try:
                self._back()
            except Exception as error:
                self._faults.note(self.probe, error)

        skip(enter, leave)
        return enter, leave

    def _back(self) -> None:
        if self._away:
            self._away = False
            self._operations.resume()

    def forget(self, call: BackwardCall) -> None:
        """Take the hooks away; a node that raised has not reached the second."""
        for handle in self._handles.pop(call.number, ()):
            handle.remove()
        self._back()
