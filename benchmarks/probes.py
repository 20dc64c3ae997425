"""Where the price comes from: torch's ways of calling us with nothing behind, then recordings with one part silenced.

What a part costs is the difference to the whole recording, which stands in the same table.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch
import torch.fx.traceback
from measuring import Way

import gradscope
from gradscope.probes import running
from gradscope.probes.graph.backward_calls import BackwardCalls
from gradscope.probes.graph.leaked_nodes import LeakedNodes
from gradscope.probes.graph.node_times import MeasuredBackward, NodeTimes
from gradscope.probes.nonfinite.host import NonfiniteOnHost
from gradscope.probes.nonfinite.losses import Losses
from gradscope.probes.operators.dataflow import Dataflow
from gradscope.probes.operators.hearing import Hearing
from gradscope.probes.operators.inplace_writes import InplaceWrites
from gradscope.probes.operators.optimizers import Optimizers
from gradscope.probes.operators.recorder import OperatorRecorder
from gradscope.probes.operators.repeated_backwards import RepeatedBackwards
from gradscope.probes.table import AT_BACKWARDS
from gradscope.probes.training.calls import TrainingCalls
from gradscope.probes.training.updates import Updates
from gradscope.torch_internals.dispatch_key import pass_on


@contextmanager
def empty_node_callback(folder: Path) -> Iterator[None]:
    """Anomaly mode that keeps nothing of a node."""
    with (
        patch.object(torch.fx.traceback, "format_stack", list),
        torch.autograd.set_detect_anomaly(True, check_nan=False),
    ):
        yield


@contextmanager
def empty_node_hook(folder: Path) -> Iterator[None]:
    """Torch's own hook for the creation of nodes, from 2.14 on, that keeps nothing."""
    hook: Any = torch.autograd.graph.node_creation_hook  # type: ignore[attr-defined]  # not below 2.14
    with hook(nothing):
        yield


def empty_key(folder: Path) -> AbstractContextManager[Any]:
    """Stands in the dispatcher and only passes each operator on."""
    return Hearing(pass_on)


@contextmanager
def both_empty(folder: Path) -> Iterator[None]:
    """What recording operators rests on, without a recording."""
    with empty_node_callback(folder), empty_key(folder):
        yield


def without(detail: str, *silenced: tuple[type, str, Callable[..., Any]]) -> Way:
    """A recording with methods replaced, by what does nothing in their place."""

    @contextmanager
    def record(folder: Path) -> Iterator[None]:
        with ExitStack() as entered:
            for owner, method, replacement in silenced:
                entered.enter_context(patch.object(owner, method, replacement))
            entered.enter_context(gradscope.record(folder / "run.gscope", detail=detail, overwrite=True))
            yield

    return record


def left_out(*names: str) -> Way:
    """A recording at `ops` without probes of the table; of those that others call, the methods do nothing."""
    if "operations" in names:  # what hears of operators from it is left out with it
        return without("nodes")
    silenced = [method for name in names for method in SILENCED.get(name, ())]

    @contextmanager
    def record(folder: Path) -> Iterator[None]:
        with ExitStack() as entered:
            for table in ("ENTERED", "AT_BACKWARDS"):
                others = tuple(
                    entry for entry in getattr(running, table) if entry.name not in names or entry.name in SILENCED
                )
                entered.enter_context(patch.object(running, table, others))
            entered.enter_context(without("ops", *silenced)(folder))
            yield

    return record


@contextmanager
def timed(spent: Counter[str]) -> Iterator[None]:
    """Adds up the CPU seconds that each probe takes when it is told of a backward call, by its name in the table."""

    def timing(name: str, told: Callable[..., None]) -> Callable[..., None]:
        def tell(*arguments: Any) -> None:
            started = time.thread_time()
            told(*arguments)
            spent[name] += time.thread_time() - started

        return tell

    with ExitStack() as entered:
        for entry in AT_BACKWARDS:
            for method in ("before", "after"):
                told = timing(entry.name, getattr(entry.probe, method))
                entered.enter_context(patch.object(entry.probe, method, told))
        yield


TRAINING = (  # all that is called to record how a program trains; what it calls of others counts, too
    *((TrainingCalls, method) for method in ("_note", "_step", "_forward", "_begins", "before")),
    *((Updates, method) for method in ("_steps", "_stepped")),
    (Losses, "before"),
)


@contextmanager
def adding_up(spent: list[float]) -> Iterator[None]:
    """Adds what each of TRAINING takes of its thread's CPU seconds to the last of `spent`, less what the clock takes.

    The surprise: where other programs use the machine's caches, the clock takes as long as what it measures. So each
    time it is asked once more, and the time between those two answers is taken off.
    """
    clock = time.thread_time

    def adding(told: Callable[..., None]) -> Callable[..., None]:
        def tell(*arguments: Any) -> None:
            before, started = clock(), clock()
            told(*arguments)
            spent[-1] += clock() - started - (started - before)

        return tell

    with ExitStack() as entered:
        for owner, method in TRAINING:
            entered.enter_context(patch.object(owner, method, adding(getattr(owner, method))))
        yield


def nothing(*arguments: Any, **keywords: Any) -> None:
    """Does nothing."""


SILENCED = {
    "dataflow": ((Dataflow, "saw", nothing),),
    "in-place writes": tuple((InplaceWrites, method, nothing) for method in ("wrote", "closed", "before", "after")),
    "non-finite values": ((NonfiniteOnHost, "look", nothing),),
}
EVERY_BACKWARD = (RepeatedBackwards, "before", nothing)

HAS_HOOK = hasattr(torch.autograd.graph, "node_creation_hook")
FLOOR: dict[str, Way] = {  # what nothing that hears every node, or every operator, can be cheaper than
    **({"node hook that notes nothing": empty_node_hook} if HAS_HOOK else {}),
    "anomaly mode that notes nothing": empty_node_callback,
    "a key in the dispatcher that does nothing": empty_key,
    "both": both_empty,
}
PROBES: dict[str, Way] = FLOOR | {
    "`nodes`": without("nodes"),
    "`nodes`, without looking at graphs": without("nodes", (BackwardCalls, "_look", nothing)),
    "`ops`": without("ops"),
    "`ops`, every backward watched": without("ops", EVERY_BACKWARD),
    "the same, without a record of operators": without(
        "ops", EVERY_BACKWARD, (OperatorRecorder, "_dispatch", lambda self: pass_on)
    ),
    "`ops`, without looks at results": without("ops", (NonfiniteOnHost, "look", nothing)),
    "`ops`, without looks at optimizers": without(
        "ops", (Optimizers, "before", nothing), (Optimizers, "after", nothing)
    ),
    "`ops`, without asking what outlives its step": without("ops", (LeakedNodes, "after", nothing)),
    "`full`": without("full"),
    "`full`, without measuring gradients": without("full", (MeasuredBackward, "_measured", lambda self, gradient: -1)),
    "`full`, without hooks on nodes": without("full", (NodeTimes, "before", nothing)),
}
