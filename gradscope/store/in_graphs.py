"""Rows that name a node of a backward call's graph, checked before anybody looks that node up."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gradscope.model.graph import Node, Parent
from gradscope.store.interned import Interned
from gradscope.store.rows import INTEGER, Row, Rows, StandFor

_NAMES = """SELECT name, stack, parent_name, parent_stack, function FROM node
  WHERE graph = (SELECT graph FROM backward WHERE number = ?)"""  # by its key, and so in order
_LEAVES = """SELECT DISTINCT leaf FROM node WHERE leaf != 0
  AND graph IN (SELECT graph FROM backward WHERE kind = 'backward')"""  # grad() leaves none in .grad


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
    """The leaves that any backward() reached, by name: graphs that are alike are stored once, so this is fast."""
    return frozenset(interned.string(leaf) for (leaf,) in rows.select(_LEAVES, (INTEGER,)))


def node_names(interned: Interned) -> StandFor[tuple[str, str]]:
    """Short name and line of a node by its row, for `read_names`."""

    def name(row: Row) -> tuple[str, str]:
        name, stack, parent_name, parent_stack, function = row
        parent = Parent(interned.string(parent_name), interned.stack(parent_stack)) if parent_name else None
        custom = interned.function(function)
        node = Node(0, interned.string(name), None, interned.stack(stack), parent=parent, function=custom)
        return node.short_name, str(node.site or "")

    return StandFor((INTEGER,) * 5, name)


def read_names(rows: Rows, known: StandFor[tuple[str, str]], backward: int) -> list[tuple[str, str]]:
    """Short name and line of every node that a backward call reached; quicker than its graph."""
    return rows.each(_NAMES, known, backward)
