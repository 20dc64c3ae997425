"""What is known of a backward call while it runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradscope.probes.core.walked_graph import WalkedGraph
from gradscope.torch_internals.running import NO_TASK


class BackwardCall:
    """One running backward call. `began` says whether the rest is set."""

    __slots__ = (
        "accumulate",
        "base",
        "began",
        "compiled",
        "create_graph",
        "failed",
        "gradients",
        "inputs",
        "keep_graph",
        "live",
        "number",
        "outer",
        "outer_base",
        "outputs",
        "reached",
        "roots",
        "stack",
        "started",
        "step",
        "stopped",
        "targets",
        "task",
        "thread",
        "walked",
    )

    began: bool
    number: int
    outer: BackwardCall | None
    outer_base: int
    base: int  # the stack of what it runs
    task: int  # the engine's, once it is known
    thread: int
    roots: str
    inputs: str | None
    keep_graph: bool
    create_graph: bool
    accumulate: bool
    compiled: bool  # compiled autograd runs it: our hooks would become part of what it compiles
    stack: int
    started: float
    step: int
    walked: WalkedGraph | None
    live: list[Any]
    gradients: Sequence[Any]  # at the roots, for as long as the nodes
    outputs: Sequence[Any]  # the tensors that it starts from and is asked for, while `live` is there
    targets: Sequence[Any]
    reached: bool  # whether every output had a graph
    failed: bool  # it has raised
    stopped: int | None  # in this node, where that is known

    def __init__(self) -> None:
        self.began = False
        self.started = 0.0
        self.reached = True
        self.failed = False
        self.stopped = None
        self.task = NO_TASK
