"""One stop: the node that is about to run, what it will get, and what the user wants next."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import Any

from gradscope.model.graph import Graph, Node


class Go(enum.Enum):
    """How to go on: to the next node of this backward, to the next node of any, or to a breakpoint."""

    NEXT = "next"
    STEP = "step"
    CONTINUE = "continue"


@dataclass(slots=True)
class Stop:
    """Where the program stands. `gradients` are live and must not outlive the stop; `live` is torch's node.

    `graph` has its order predicted. `replaced` holds what `set` put in a gradient's place, by position.
    """

    graph: Graph
    node: Node
    live: Any
    gradients: tuple[Any, ...]
    why: str
    replaced: dict[int, Any] = field(default_factory=dict)

    @property
    def seen(self) -> tuple[Any, ...]:
        """The gradients that the node will get."""
        return tuple(self.replaced.get(position, one) for position, one in enumerate(self.gradients))
