"""Reads operators and graphs as bare numbers, as they are stored: two runs of a million operators are compared so
in seconds, where building nouns takes minutes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

from gradscope.store.rows import INTEGER, MAYBE, REAL, Packed, Rows, StandFor

Row = tuple[int, ...]
Told = TypeVar("Told")


def read_stretches(rows: Rows) -> Iterator[tuple[int, int, int, int | None, float]]:
    """Number, block, thread, backward and beginning of every stretch of operators, in order."""
    sql = "SELECT number, block, thread, backward, started FROM block_run ORDER BY number"
    yield from rows.select(sql, (INTEGER, INTEGER, INTEGER, INTEGER | MAYBE, REAL))


OPERATOR = (INTEGER, INTEGER, INTEGER, INTEGER | MAYBE)
NODE = (INTEGER,) * 7


def read_operators(rows: Rows, block: int, stand_for: StandFor[Told]) -> list[Told]:
    """What every operator of a block stands for, by an OPERATOR: name, stack, module call and node, as numbers."""
    return rows.each("SELECT name, stack, call, node FROM operation WHERE block = ? ORDER BY number", stand_for, block)


def read_nodes(rows: Rows, graph: int, stand_for: StandFor[Told]) -> list[Told]:
    """What every node of a graph stands for, by a NODE: name, stack, parent's stack, module call, levels, leaf and
    function, as numbers."""
    sql = "SELECT name, stack, parent_stack, call, levels, leaf, function FROM node WHERE graph = ? ORDER BY number"
    return rows.each(sql, stand_for, graph)


def read_edges(rows: Rows, graph: int) -> Packed:
    """Source, output, target and input of every edge of a graph."""
    sql = """SELECT group_concat(source), group_concat(output), group_concat(target), group_concat(input_nr)
      FROM (SELECT * FROM edge WHERE graph = ? ORDER BY source, output)"""
    return rows.packed(sql, graph)


def read_received(rows: Rows, tensors: int) -> Packed:
    """Node, place and type of what the nodes of a graph receive."""
    sql = """SELECT group_concat(node), group_concat(position), group_concat(type)
      FROM (SELECT * FROM input_meta WHERE tensors = ? ORDER BY node, position)"""
    return rows.packed(sql, tensors)


def read_saved(rows: Rows, tensors: int) -> Packed:
    """Node, place and type of what the nodes of a graph save; the place is below 0, unlike those of `read_received`."""
    sql = """SELECT group_concat(node), group_concat(-1 - position), group_concat(type)
      FROM (SELECT * FROM saved WHERE tensors = ? ORDER BY node, position)"""
    return rows.packed(sql, tensors)


def read_made_types(rows: Rows, stretch: int) -> Packed:
    """Operator and type of what the operators of a stretch made, where it was looked at."""
    sql = """SELECT group_concat(operation), group_concat(type) FROM (SELECT f.operation, t.type FROM flow f
      JOIN flow_tensor t ON t.number = f.tensor WHERE f.block_run = ? AND f.side = 1 ORDER BY f.position)"""
    return rows.packed(sql, stretch)


def read_graphs(rows: Rows) -> Iterator[tuple[int, int | None, int | None]]:
    """Number, graph and tensors of every backward call."""
    sql = "SELECT number, graph, tensors FROM backward ORDER BY number"
    yield from rows.select(sql, (INTEGER, INTEGER | MAYBE, INTEGER | MAYBE))


def read_hooks_on(rows: Rows) -> Iterator[Row]:
    """Backward, node and hook of every hook that hung on a node when a backward began."""
    yield from rows.select("SELECT backward, node, hook FROM hook_on ORDER BY backward, node, hook", (INTEGER,) * 3)


def read_firings(rows: Rows) -> Iterator[tuple[int, int, int | None, int]]:
    """Backward, hook, node and effect of every hook that fired, in order."""
    sql = "SELECT backward, hook, node, changed FROM firing ORDER BY backward, position"
    yield from rows.select(sql, (INTEGER, INTEGER, INTEGER | MAYBE, INTEGER))


def read_leaves(rows: Rows) -> Iterator[tuple[int, int | None]]:
    """Name and type of every leaf that a backward call reached, in the order of the first graphs."""
    sql = """SELECT n.leaf, m.type FROM (SELECT graph, min(tensors) AS tensors FROM backward GROUP BY graph) b
      JOIN node n ON n.graph = b.graph AND n.leaf != 0
      LEFT JOIN input_meta m ON m.tensors = b.tensors AND m.node = n.number AND m.position = 0
      ORDER BY b.graph, n.number DESC"""
    yield from rows.select(sql, (INTEGER, INTEGER | MAYBE))
