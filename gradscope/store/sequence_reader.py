"""Reads operators and graphs as bare numbers, as they are stored: two runs of a million operators are compared so
in seconds, where building nouns takes minutes."""

from __future__ import annotations

from collections.abc import Iterator

from gradscope.store.rows import INTEGER, MAYBE, REAL, Packed, Rows

Row = tuple[int, ...]


def read_stretches(rows: Rows) -> Iterator[tuple[int, int, int, int | None, float]]:
    """Number, block, thread, backward and beginning of every stretch of operators, in order."""
    sql = "SELECT number, block, thread, backward, started FROM block_run ORDER BY number"
    yield from rows.select(sql, (INTEGER, INTEGER, INTEGER, INTEGER | MAYBE, REAL))


def read_operators(rows: Rows, block: int) -> Packed:
    """Name, stack, module call and node of every operator of a block; the node is below 0 where there is none."""
    sql = """SELECT group_concat(name), group_concat(stack), group_concat(call), group_concat(ifnull(node, -1))
      FROM operation WHERE block = ?"""
    return rows.packed(sql, block)


def read_nodes(rows: Rows, graph: int) -> Packed:
    """Name, stack, parent's stack, module call, levels, leaf and function of every node of a graph."""
    sql = """SELECT group_concat(name), group_concat(stack), group_concat(parent_stack), group_concat(call),
      group_concat(levels), group_concat(leaf), group_concat(function) FROM node WHERE graph = ?"""
    return rows.packed(sql, graph)


def read_edges(rows: Rows, graph: int) -> Packed:
    """Source, output, target and input of every edge of a graph."""
    sql = """SELECT group_concat(source), group_concat(output), group_concat(target), group_concat(input_nr)
      FROM edge WHERE graph = ?"""
    return rows.packed(sql, graph)


def read_received(rows: Rows, tensors: int) -> Packed:
    """Node, place and type of what the nodes of a graph receive."""
    sql = """SELECT group_concat(node), group_concat(position), group_concat(type)
      FROM input_meta WHERE tensors = ?"""
    return rows.packed(sql, tensors)


def read_saved(rows: Rows, tensors: int) -> Packed:
    """Node, place and type of what the nodes of a graph save; the place is below 0, unlike those of `read_received`."""
    sql = """SELECT group_concat(node), group_concat(-1 - position), group_concat(type)
      FROM saved WHERE tensors = ?"""
    return rows.packed(sql, tensors)


def read_made_types(rows: Rows, stretch: int) -> Packed:
    """Operator and type of what the operators of a stretch made, where it was looked at."""
    sql = """SELECT group_concat(operation), group_concat(type) FROM (SELECT f.operation, t.type FROM flow f
      JOIN flow_tensor t ON t.number = f.tensor WHERE f.block_run = ? AND f.side = 1 ORDER BY f.position)"""
    return rows.packed(sql, stretch)


def read_last_looked_at(rows: Rows) -> int:
    """The last stretch of which it was looked at what its operators made; below 0 where there is none."""
    (found,) = rows.one("SELECT max(block_run) FROM flow", (INTEGER | MAYBE,))
    return -1 if found is None else int(found)


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
