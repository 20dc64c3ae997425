"""Reads how large leaves and gradients were, in the steps in which they were measured."""

from __future__ import annotations

from gradscope.model.size import LeafSize
from gradscope.store.interned import Interned
from gradscope.store.rows import INTEGER, REAL, TEXT, Rows, finite


def read_sizes(rows: Rows, interned: Interned) -> tuple[LeafSize, ...]:
    """The leaves and gradients that were measured, by backward."""
    sql = "SELECT backward, leaf, gradient, weight, zero_share, count FROM leaf_size ORDER BY backward, leaf"
    found = rows.select(sql, (INTEGER, INTEGER, TEXT, TEXT, REAL, INTEGER))
    return tuple(
        LeafSize(backward, interned.string(leaf), float(gradient), float(weight), finite(zeros), max(count, 1))
        for backward, leaf, gradient, weight, zeros, count in found
    )


def read_node_sizes(rows: Rows) -> dict[int, dict[int, float]]:
    """The largest magnitude of what nodes received where it was measured, by backward and node."""
    found: dict[int, dict[int, float]] = {}
    for backward, node, size in rows.select("SELECT backward, node, size FROM node_size", (INTEGER, INTEGER, TEXT)):
        found.setdefault(backward, {})[node] = float(size)
    return found
