"""Deletes old steps from a recording that keeps only the last ones.

The first step that is kept begins where the last backward call before it ended; operators that ran earlier go too. What
is stored once for all steps goes only when none points at it any more: while a run goes on, its writer must be told.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Mapping, Set

from gradscope.model.training import STEP

Gone = Mapping[str, Set[int]]  # ids of content that is deleted, by table

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
_CONTENT = {  # what a step points at: the tables that it is made of, and from where it is pointed at
    "graph": (("node", "edge"), "backward"),
    "tensors": (("input_meta", "saved", "given", "again"), "backward"),
    "block": (("operation", "written"), "block_run"),
    "interval": (("training_call",), "interval_run"),
    "layout": ((), "measurement"),
}
# Told of a sample of the calls, for what grows over a run: those stay, they are few. Of NaN that stays, the first.
_IS_SAMPLE = "(backward & (backward - 1)) = 0"
_FIRST_ARRIVALS = "SELECT min(backward) FROM nonfinite GROUP BY birth, place, leaf"
_RATES = 1000  # learning rates of an optimizer's group that are kept in any case
_STEPS_A_CALL = 4  # that an optimizer may do for a backward call


def forget_before(database: sqlite3.Connection, step: int) -> int:
    """Delete the steps before one, and say how many there were."""
    old = "SELECT number FROM backward WHERE step < ?"
    count, ended = database.execute(
        "SELECT count(DISTINCT step), max(started + coalesce(duration, 0)) FROM backward WHERE step < ?", (step,)
    ).fetchone()
    if not count:
        return 0
    is_old = f"backward IN ({old}) OR (backward IS NULL AND started < ?)"
    _count_steps(database, step)
    runs = database.execute(f"SELECT number FROM block_run WHERE {is_old}", (step, ended)).fetchall()
    for table, column in (("flow", "block_run"), ("block_run", "number")):
        database.executemany(f"DELETE FROM {table} WHERE {column} = ?", runs)
    _forget_collectives(database, max((number for (number,) in runs), default=0))
    for table in _OF_A_BACKWARD:
        database.execute(f"DELETE FROM {table} WHERE backward IN ({old})", (step,))
    for table, sample in (("leaf_size", ""), ("buffer_size", "OR left_alone = 3"), ("node_size", "")):
        is_kept = f"({_IS_SAMPLE} {sample})"
        database.execute(f"DELETE FROM {table} WHERE backward IN ({old}) AND NOT {is_kept}", (step,))
    database.execute(
        f"DELETE FROM nonfinite WHERE backward IN ({old}) AND backward NOT IN ({_FIRST_ARRIVALS})", (step,)
    )
    database.execute("DELETE FROM backward WHERE step < ?", (step,))
    _forget_hooks(database)
    _forget_rates(database)
    return int(count)


def _forget_collectives(database: sqlite3.Connection, last: int) -> None:
    """Those of the stretches of operators up to `last` that are gone; what they were given is little, and stays."""
    kept = "SELECT number FROM block_run"
    database.execute(f"DELETE FROM collective_run WHERE block_run <= ? AND block_run NOT IN ({kept})", (last,))
    for table in ("collective_wait", "reduced_gradient"):
        database.execute(f"DELETE FROM {table} WHERE collective_run NOT IN (SELECT number FROM collective_run)")


def _count_steps(database: sqlite3.Connection, step: int) -> None:
    """Keep in mind how often each optimizer has stepped before what is kept: its steps are known by number."""
    found = database.execute("SELECT value FROM run WHERE name = 'optimizer_steps_before'").fetchone()
    before = Counter({} if found is None else json.loads(found[0]))
    going = """SELECT c.optimizer, count(*) FROM backward b JOIN interval_run r ON r.backward = b.number
      JOIN training_call c ON c.interval = r.interval JOIN string s ON s.id = c.kind
      WHERE b.step < ? AND s.text = ? GROUP BY c.optimizer"""
    steps = {str(optimizer): count for optimizer, count in database.execute(going, (step, STEP.name))}
    if steps:
        told = json.dumps(before + Counter(steps))
        database.execute("INSERT OR REPLACE INTO run VALUES ('optimizer_steps_before', ?)", (told,))


def _forget_hooks(database: sqlite3.Connection) -> None:
    """Those that were removed before the first call that is kept, but for the first of each line."""
    gone = """SELECT hook FROM hook_since WHERE until <= (SELECT min(number) FROM backward)
      AND hook NOT IN (SELECT min(number) FROM hook GROUP BY stack)
      AND hook NOT IN (SELECT hook FROM firing) AND hook NOT IN (SELECT hook FROM hook_on)"""
    numbers = database.execute(gone).fetchall()
    for table, column in (("hook", "number"), ("hook_since", "hook")):
        database.executemany(f"DELETE FROM {table} WHERE {column} = ?", numbers)


def _forget_rates(database: sqlite3.Connection) -> None:
    """All but the last learning rates: as many as the calls that are kept can have needed."""
    (calls,) = database.execute("SELECT count(*) FROM backward").fetchone()
    kept = _RATES + _STEPS_A_CALL * calls
    groups = "SELECT optimizer, part, max(count) FROM learning_rate GROUP BY optimizer, part HAVING count(*) > ?"
    for optimizer, part, last in database.execute(groups, (kept,)).fetchall():
        older = "SELECT max(count) FROM learning_rate WHERE optimizer = ?1 AND part = ?2 AND count <= ?3"
        database.execute(
            f"DELETE FROM learning_rate WHERE optimizer = ?1 AND part = ?2 AND count < ({older})",
            (optimizer, part, last - kept),
        )


def forget_oldest(database: sqlite3.Connection, share: int) -> int:
    """Delete the oldest steps, one in `share` of those that are there, and say how many; the newest always stays."""
    steps = [step for (step,) in database.execute("SELECT DISTINCT step FROM backward ORDER BY step")]
    going = min(-(-len(steps) // share), len(steps) - 1)
    return forget_before(database, steps[going]) if going > 0 else 0


def unused(database: sqlite3.Connection, spared: Gone) -> dict[str, set[int]]:
    """The content that no step points at any more, but for what is `spared`."""
    found: dict[str, set[int]] = {}
    for table, (_, pointing) in _CONTENT.items():
        pointers = f"SELECT {table} FROM {pointing} WHERE {table} IS NOT NULL"
        rows = database.execute(f"SELECT id FROM {table} WHERE id NOT IN ({pointers})")
        found[table] = {number for (number,) in rows} - spared.get(table, frozenset())
    return found


def delete(database: sqlite3.Connection, content: Gone) -> None:
    """Delete content."""
    for table, numbers in content.items():
        parts, _ = _CONTENT[table]
        for part, column in (*((part, table) for part in parts), (table, "id")):
            database.executemany(f"DELETE FROM {part} WHERE {column} = ?", ((number,) for number in numbers))


def prune(database: sqlite3.Connection) -> None:
    """Delete the graphs, tensors and blocks that no step points at any more, and give the space back."""
    delete(database, unused(database, {}))
    database.commit()
    database.execute("VACUUM")
