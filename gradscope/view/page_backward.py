"""One backward call as a page holds it: order, hooks, what was measured. Long columns are shared with calls alike."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

from gradscope.engine.order import predict
from gradscope.measures.hooks import silent, timeline
from gradscope.measures.peak import peak
from gradscope.measures.places import single
from gradscope.model.graph import Graph, OrderSource, Root
from gradscope.model.hook import Firing, Hook
from gradscope.model.statistics import GradientStatistics
from gradscope.view.page_tables import PageTables, lines, steps
from gradscope.view.replay import Recorded
from gradscope.view.words import size

MICRO = 1_000_000
MOST_SILENT = 300  # a loop that registers hooks anew has thousands that did not fire in one call


def backward_row(recorded: Recorded, graph: int, tables: PageTables) -> dict[str, Any]:
    """A backward call over the graph of that number."""
    nodes, call = recorded.graph.nodes, recorded.graph.backward
    ran = sorted((node.order, node.id) for node in nodes if node.order is not None)
    taken = [node for _, node in ran]
    return {
        "graph": graph,
        "number": call.number,
        "kind": call.kind,
        "keep": call.keep_graph,
        "create": call.create_graph,
        "nested": call.nested_in,
        "step": call.step,
        "stack": tables.stack(call.stack),
        "duration": number(call.duration),
        "stopped": call.stopped,
        "exception": None if call.exception is None else lines(call.exception),
        "measured": call.order_source is OrderSource.MEASURED,
        "roots": _roots(call.roots),
        "inputs": None if call.inputs is None else _roots(call.inputs),
        "inner": [one.number for one in recorded.nested],
        "order": tables.list(steps(taken)),
        "captured": _captured(recorded.graph),
        "hooks": tables.list([part for node in nodes for hook in node.hooks for part in (node.id, tables.hook(hook))]),
        "fired": _fired(recorded.graph, tables),
        **_silent(recorded.graph, recorded.hooks, tables),
        "times": _times(recorded, taken),
        "gradients": _gradients(recorded.gradients),
        "updates": _updates(recorded),
        "operators": tables.list(_operators(recorded, tables)),
        "peak": _peak(recorded.graph),
    }


def number(value: float | None) -> float | str | None:
    """A measured number with four digits; one that JSON cannot write (nan, inf) by its name."""
    if value is None or math.isfinite(value):
        return None if value is None else float(f"{value:.4g}")
    return str(value)


def _roots(roots: Sequence[Root]) -> list[int]:
    return [root.node for root in roots if root.node is not None]


def _captured(graph: Graph) -> list[int]:
    """What autograd.grad takes the gradients of without running it."""
    return list(predict(graph).captured_only) if graph.backward.inputs is not None else []


def _fired(graph: Graph, tables: PageTables) -> list[list[Any]]:
    """Hooks in firing order. `by rule`: retain_grad, which torch runs out of sight."""
    events = timeline(graph) if graph.firings or any(node.hooks for node in graph.nodes) else ()
    return [
        _firing(event.firing, -1 if event.node is None else event.node.id, event.by_rule, tables)
        for event in events
        if event.firing is not None
    ]


def _silent(graph: Graph, hooks: Sequence[Hook], tables: PageTables) -> dict[str, Any]:
    """The first hooks that did not fire, and how many more there are."""
    found = list(silent(graph, hooks))
    rows = [
        [tables.hook(hook), -1 if node is None else node.id, tables.string(why.value)]
        for hook, node, why in found[:MOST_SILENT]
    ]
    return {"silent": rows, "more_silent": len(found) - len(rows)}


def _firing(firing: Firing, node: int, by_rule: bool, tables: PageTables) -> list[Any]:
    measured = [number(value) for value in (firing.before, firing.after, firing.seconds)]
    return [tables.hook(firing.hook), node, tables.string(firing.words), int(by_rule), *measured]


def _times(recorded: Recorded, taken: Sequence[int]) -> list[int]:
    """Microseconds that each node took, in the order in which they ran; empty when nothing was measured."""
    took = {run.node: run.duration for run in recorded.runs if math.isfinite(run.duration)}
    return [round(took.get(node, 0.0) * MICRO) for node in taken] if took else []


def _gradients(found: Sequence[GradientStatistics]) -> dict[str, list[Any]]:
    """The gradients as columns; `node` counts from the one before."""
    return {
        "node": steps([one.node for one in found]),
        "out": [int(one.side == "out") for one in found],
        "index": [one.index for one in found],
        "norm": [None if one.of_nothing else number(one.norm) for one in found],
        "max": [None if one.of_nothing else number(one.max) for one in found],
        "zeros": [float(f"{one.zero_share:.2g}") if math.isfinite(one.zero_share) else 0 for one in found],
        "nan": [one.nan for one in found],
        "inf": [one.inf for one in found],
    }


def _updates(recorded: Recorded) -> list[Any]:
    """Shares of elements that the next steps changed: a node, and its share."""
    shares = dict(recorded.updates)
    held = ((node.id, shares[node.leaf]) for node in recorded.graph.nodes if node.accumulates and node.leaf in shares)
    return [part for node, share in held for part in (node, number(share))]


def _operators(recorded: Recorded, tables: PageTables) -> list[int]:
    """For each node, the list of operators that ran in it, each with how often."""
    names: dict[int, list[str]] = defaultdict(list)
    for node, name in recorded.operators:
        if node is not None:
            names[node].append(name)
    if not names:
        return []
    return [
        tables.list([part for name, times in Counter(names[node.id]).items() for part in (tables.string(name), times)])
        for node in recorded.graph.nodes
    ]


def _peak(graph: Graph) -> str:
    highest = peak(graph)
    where = "before the first node" if highest.node is None else f"at {single(graph.nodes[highest.node])}"
    again = f", {size(highest.again)} computed again" if highest.again else ""
    return f"{size(highest.bytes)} {where}: {size(highest.saved)} saved, {size(highest.gradients)} of gradients{again}"
