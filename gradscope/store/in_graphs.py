"""Rows that name a node of a backward call's graph, checked before anybody looks that node up."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gradscope.store.interned import Interned
from gradscope.store.rows import INTEGER, Rows

_LEAVES = "SELECT DISTINCT leaf FROM node WHERE leaf != 0"


def in_graphs(rows: Rows, sql: str, width: int) -> Iterator[tuple[Any, ...]]:
    """The rows of a query, all integers, that begin with a backward call and a node.

    Rows of a call that reached no graph, or is not in the file because the run was killed, are left out. Raises
    ValueError for a node that is not in its graph.
    """
    sizes = graph_sizes(rows)
    for row in rows.select(sql, (INTEGER,) * width):
        backward, node = row[:2]
        if backward in sizes:
            if not 0 <= node < sizes[backward]:
                raise ValueError(f"backward {backward} names a node that is not in its graph")
            yield row


def graph_sizes(rows: Rows) -> dict[int, int]:
    """How many nodes each backward call reached, by number."""
    sql = "SELECT b.number, g.nodes FROM backward b JOIN graph g ON g.id = b.graph ORDER BY b.number"
    return dict(rows.select(sql, (INTEGER, INTEGER)))


def read_reached_leaves(rows: Rows, interned: Interned) -> frozenset[str]:
    """The leaves of all graphs, by name: graphs that are alike are stored once, so this is fast."""
    return frozenset(interned.string(leaf) for (leaf,) in rows.select(_LEAVES, (INTEGER,)))
