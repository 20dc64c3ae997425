"""The probes by themselves: what torch's own seams cost with nothing behind them, then one probe more each time."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch
import torch.fx.traceback
from measuring import Way

from gradscope.model.window import Window
from gradscope.probes.anomaly import Anomaly
from gradscope.probes.dispatch import Dispatching
from gradscope.probes.engine import Engine, Watcher
from gradscope.probes.faults import Faults
from gradscope.probes.hooks import Hooks
from gradscope.probes.modules import Modules
from gradscope.probes.names import Names
from gradscope.probes.nodes import Nodes
from gradscope.probes.operations import Operations
from gradscope.probes.stacks import Stacks
from gradscope.probes.steps import Steps
from gradscope.probes.threads import Threads
from gradscope.probes.values import Values
from gradscope.probes.walk import Walker
from gradscope.store.writer import Writer

NODES, MODULES, BACKWARDS, OPERATORS, VALUES = range(1, 6)


@contextmanager
def probes(folder: Path, most: int) -> Iterator[None]:
    """The first probes of a recording, as capture enters them."""
    with ExitStack() as entered:
        writer = Writer(folder / "probes.gscope", overwrite=True)
        threads, stacks, names, faults = Threads.counting(), Stacks(writer), Names(), Faults(writer)
        steps = Steps(Window(), writer)
        nodes = Nodes(writer, threads, stacks, Anomaly(), faults, operators=most >= OPERATORS)
        entered.enter_context(nodes)
        if most >= MODULES:
            entered.enter_context(Modules(threads, stacks, names, faults))
        hooks = Hooks(writer, threads, stacks, names, nodes, faults)
        watchers: list[Watcher] = [hooks]
        if most >= BACKWARDS:
            entered.enter_context(hooks)
            walker = Walker(writer, nodes, names)
            entered.enter_context(Engine(writer, threads, stacks, nodes, walker, faults, watchers, steps))
        if most >= OPERATORS:
            operations = Operations(writer, threads, stacks, names, faults, steps, time.perf_counter())
            watchers.append(operations)
            entered.enter_context(operations)
        if most >= VALUES:
            watchers.append(Values(writer, threads, faults))
        yield
    writer.close({})


@contextmanager
def empty_node_callback(folder: Path) -> Iterator[None]:
    """Anomaly mode that keeps nothing of a node."""
    with (
        patch.object(torch.fx.traceback, "format_stack", list),
        torch.autograd.set_detect_anomaly(True, check_nan=False),
    ):
        yield


def empty_mode(folder: Path) -> AbstractContextManager[Any]:
    """A dispatch mode that only passes each operator on."""

    def dispatch(mode: Any, operator: Any, types: Any, arguments: Any = (), keywords: Any = None) -> Any:
        return operator._op(*arguments, **keywords) if keywords else operator._op(*arguments)

    return Dispatching(dispatch)


def up_to(most: int) -> Way:
    """The probes up to one."""
    return lambda folder: probes(folder, most)


PROBES: dict[str, Way] = {
    "anomaly mode that notes nothing": empty_node_callback,
    "dispatch mode that does nothing": empty_mode,
    "nodes: a token each": up_to(NODES),
    "+ module calls": up_to(MODULES),
    "+ backward calls, hooks, graphs, the file": up_to(BACKWARDS),
    "+ operators": up_to(OPERATORS),
    "+ times and gradients": up_to(VALUES),
}
