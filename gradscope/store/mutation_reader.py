"""Reads what backward calls found changed in their graphs."""

from __future__ import annotations

from collections import defaultdict

from gradscope.model.mutation import Declaration, HiddenWrite, Reused, Stale
from gradscope.store.in_graphs import in_graphs
from gradscope.store.interned import Interned
from gradscope.store.rows import INTEGER, Rows


def read_stale(rows: Rows, interned: Interned) -> tuple[Stale, ...]:
    """The saved tensors that were edited, by backward call and node."""
    trails: dict[tuple[int, int, int], list[tuple[int, int]]] = defaultdict(list)
    sql = "SELECT backward, node, name, block_run, storage FROM trail ORDER BY block_run DESC, storage DESC"
    for backward, node, name, block_run, storage in rows.select(sql, (INTEGER,) * 5):
        trails[backward, node, name].append((block_run, storage))
    sql = "SELECT backward, node, name, expected, version FROM stale ORDER BY backward, node, name"
    return tuple(
        Stale(backward, node, interned.string(name), expected, version, tuple(trails[backward, node, name]))
        for backward, node, name, expected, version in in_graphs(rows, sql, 5)
    )


def read_hidden_writes(rows: Rows, interned: Interned) -> tuple[HiddenWrite, ...]:
    """The writes that neither graph nor version shows, by backward call and node."""
    sql = "SELECT backward, node, name, op, stack, late FROM hidden_write ORDER BY backward, node"
    return tuple(
        HiddenWrite(backward, node, interned.string(name), interned.string(op), interned.stack(stack), bool(late))
        for backward, node, name, op, stack, late in in_graphs(rows, sql, 6)
    )


def read_reused(rows: Rows) -> tuple[Reused, ...]:
    """The nodes that an earlier backward had run, by backward call and node."""
    sql = "SELECT backward, node, earlier, earlier_node, freed FROM reused ORDER BY backward, node"
    return tuple(
        Reused(backward, node, earlier, earlier_node, bool(freed))
        for backward, node, earlier, earlier_node, freed in in_graphs(rows, sql, 5)
    )


def read_declarations(rows: Rows, interned: Interned) -> tuple[Declaration, ...]:
    """Where modules were built."""
    sql = "SELECT path, class, stack, inplace FROM declaration ORDER BY path, class, stack"
    return tuple(
        Declaration(interned.string(path), interned.string(name), interned.stack(stack), bool(inplace))
        for path, name, stack, inplace in rows.select(sql, (INTEGER,) * 4)
    )
