"""The stack of torch.func transforms that is active while a node is built."""

from __future__ import annotations

from gradscope.probes.core.sink import Sink
from gradscope.torch_internals.running import interpreters


class TransformLevels:
    """Interns stacks of transforms as texts such as "Vmap:1 Grad:2", outermost first."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink

    def take(self) -> int:
        """The string id of the active stack, 0 when there is none."""
        stack = interpreters()
        if not stack:
            return 0
        return self._sink.string(" ".join([f"{level.key().name}:{level.level()}" for level in stack]))
