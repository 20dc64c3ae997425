"""Backward time by line, module, node or kind of node.

A node's own time is what the engine spent in it less what backward calls that ran inside it took.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from gradscope.measures.places import PLACES, UNITS
from gradscope.model.graph import Graph, Node
from gradscope.model.operation import Block
from gradscope.model.statistics import NodeRun
from gradscope.model.table import Column, Row, Table, Unit

MOST_OPERATORS = 4


@dataclass(frozen=True, slots=True)
class Measured:
    """One backward call with the runs of its nodes, and the time spans of the calls that ran inside it.

    `nested` are (start, duration) in seconds from this call's start.
    """

    runs: tuple[NodeRun, ...]
    nested: tuple[tuple[float, float], ...] = ()


@dataclass(slots=True)
class Spent:
    """Seconds spent in a node over all the calls."""

    runs: int = 0
    total: float = 0.0
    own: float = 0.0


def times(graph: Graph, calls: Sequence[Measured], operators: Mapping[int, Counter[str]], by: str) -> Table:
    """Seconds in one backward, on average over calls with the same graph."""
    spent = _spent(calls)
    rows: dict[str, list[Node]] = defaultdict(list)
    for node in graph.nodes:
        if node.id in spent:
            rows[PLACES[by](node)].append(node)
    whole = sum(each.own for each in spent.values()) or 1.0
    inside = _inside(graph, spent) if by == "module" else {}
    found = [_row(name, nodes, spent, operators, whole, len(calls), inside.get(name)) for name, nodes in rows.items()]
    columns = (
        Column(by, UNITS[by], "where the time went"),
        Column("own", Unit.SECONDS, "in these nodes alone, in one backward"),
        Column("total", Unit.SECONDS, "with what ran inside them"),
        Column("share", Unit.SHARE, "of all own time"),
        Column("nodes", Unit.COUNT, "how many nodes"),
        Column("operators", help="what ran inside them"),
    )
    note = f"mean of {len(calls):,} backward calls with this graph" if len(calls) > 1 else ""
    return Table("times", columns, tuple(found), (note,) if note else ()).sorted_by("own")


def operators_inside(blocks: Iterable[Block], backward: int) -> dict[int, Counter[str]]:
    """The operators that ran inside each node of a backward call."""
    found: dict[int, Counter[str]] = defaultdict(Counter)
    for block in blocks:
        if block.backward == backward:
            for operation in block.operations:
                if operation.node is not None:
                    found[operation.node][operation.name] += 1
    return found


def _spent(calls: Sequence[Measured]) -> dict[int, Spent]:
    spent: dict[int, Spent] = defaultdict(Spent)
    for call in calls:
        for run in call.runs:
            each = spent[run.node]
            within = sum(took for began, took in call.nested if run.started <= began <= run.started + run.duration)
            each.runs += 1
            each.total += run.duration
            each.own += max(run.duration - within, 0.0)
    return spent


def _inside(graph: Graph, spent: Mapping[int, Spent]) -> dict[str, float]:
    """A module's total: the time of its own nodes and of those in the modules that it calls."""
    totals: dict[str, float] = defaultdict(float)
    for node in graph.nodes:
        if node.id in spent and node.module is not None:
            for label in {call.label for call in node.module.chain}:
                totals[label] += spent[node.id].total
    return totals


def _row(
    name: str,
    nodes: list[Node],
    spent: Mapping[int, Spent],
    operators: Mapping[int, Counter[str]],
    whole: float,
    calls: int,
    total: float | None,
) -> Row:
    own = sum(spent[node.id].own for node in nodes)
    total = sum(spent[node.id].total for node in nodes) if total is None else total
    ran = sum((operators.get(node.id, Counter()) for node in nodes), Counter[str]())
    return name, own / calls, total / calls, own / whole, len(nodes), _words(ran)


def _words(ran: Counter[str]) -> str | None:
    """`mm 2, sum 1`, the most frequent first."""
    if not ran:
        return None
    shown = [
        f"{name.removeprefix('aten.').removesuffix('.default')} {count}"
        for name, count in ran.most_common(MOST_OPERATORS)
    ]
    more = len(ran) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")
