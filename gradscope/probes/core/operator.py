"""What is known of an operator since it was first seen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Write = tuple[int, int, str]  # position, string id, name of a written argument


class Operator:
    """What is known of an operator: its name, what runs it, what it writes. Keeps it alive: its id is a key."""

    __slots__ = (
        "copies",
        "harmless",
        "look",
        "makes_nodes",
        "name",
        "operator",
        "run",
        "sign",
        "sign_at_rest",
        "writes",
    )

    copies: bool
    harmless: Callable[[tuple[Any, ...]], bool] | None
    look: int
    makes_nodes: bool
    name: int
    operator: Any
    run: Any
    sign: Callable[[Any, tuple[Any, ...], Any], None] | None
    sign_at_rest: bool  # whether it is asked for without gradients, too
    writes: tuple[Write, ...]
