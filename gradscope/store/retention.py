"""Deletes old steps from a recording that keeps only the last ones.

The first step that is kept begins where the last backward call before it ended; operators that ran earlier go too.
"""

from __future__ import annotations

import sqlite3

_OF_A_BACKWARD = (
    *(
        "measurement",
        "hook_on",
        "firing",
        "flow_end",
        "leaf_gradient",
        "interval_run",
        "loss",
        "scale",
        "storage",
        "tensor",
        "dispatch",
        "exchange",
        "condition",
    ),
    *("stale", "trail", "reused", "hidden_write", "on_context"),
)
_BY_GRAPH = ("node", "edge")
_BY_TENSORS = ("input_meta", "saved", "given", "again")
_BY_BLOCK = ("operation", "written")
_BY_INTERVAL = ("training_call",)
_BY_BLOCK_RUN = ("flow", "collective_run")
_BY_COLLECTIVE_RUN = ("collective_wait", "reduced_gradient")


def forget_before(database: sqlite3.Connection, step: int) -> int:
    """Delete the steps before one, and say how many there were."""
    old = "SELECT number FROM backward WHERE step < ?"
    count, ended = database.execute(
        "SELECT count(DISTINCT step), max(started + coalesce(duration, 0)) FROM backward WHERE step < ?", (step,)
    ).fetchone()
    if not count:
        return 0
    database.execute(
        f"DELETE FROM block_run WHERE backward IN ({old}) OR (backward IS NULL AND started < ?)", (step, ended)
    )
    for table in _OF_A_BACKWARD:
        database.execute(f"DELETE FROM {table} WHERE backward IN ({old})", (step,))
    database.execute("DELETE FROM backward WHERE step < ?", (step,))
    return int(count)


def prune(database: sqlite3.Connection) -> None:
    """Delete the graphs, tensors and blocks that no step points at any more, and give the space back."""
    for tables, template, pointer in (
        (_BY_GRAPH, "graph", "SELECT graph FROM backward"),
        (_BY_TENSORS, "tensors", "SELECT tensors FROM backward"),
        (_BY_BLOCK, "block", "SELECT block FROM block_run"),
        (_BY_INTERVAL, "interval", "SELECT interval FROM interval_run"),
        ((), "layout", "SELECT layout FROM measurement"),
    ):
        for table in tables:
            database.execute(f"DELETE FROM {table} WHERE {template} NOT IN ({pointer})")
        database.execute(f"DELETE FROM {template} WHERE id NOT IN ({pointer})")
    for table in _BY_BLOCK_RUN:
        database.execute(f"DELETE FROM {table} WHERE block_run NOT IN (SELECT number FROM block_run)")
    for table in _BY_COLLECTIVE_RUN:
        database.execute(f"DELETE FROM {table} WHERE collective_run NOT IN (SELECT number FROM collective_run)")
    database.execute("DELETE FROM collective WHERE id NOT IN (SELECT collective FROM collective_run)")
    database.commit()
    database.execute("VACUUM")
