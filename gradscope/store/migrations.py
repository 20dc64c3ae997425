"""Brings a recording of an older gradscope up to this one's tables, in a copy in memory: the file stays as it was.

What an older version did not record stays missing, as in a run that recorded less.
"""

from __future__ import annotations

import json
import sqlite3
import struct
from collections.abc import Callable

from gradscope.store.schema import SCHEMA, TABLES

_STATISTICS = "norm, max, zero_share, nan, inf"


def migrated(connection: sqlite3.Connection, schema: int) -> sqlite3.Connection:
    """The content of an older recording in this version's tables. Closes the connection to the file."""
    memory = sqlite3.connect(":memory:", isolation_level=None)
    try:
        memory.execute("PRAGMA trusted_schema=OFF")
        connection.backup(memory)
        for migrate in _MIGRATIONS[schema - 1 :]:
            migrate(memory)
    except BaseException:
        memory.close()
        raise
    connection.close()
    memory.execute("PRAGMA query_only=ON")
    return memory


def _from_1(memory: sqlite3.Connection) -> None:
    """Measurements were rows; nothing was kept for explanations."""
    measured = dict(memory.execute("SELECT number, measured FROM backward WHERE measured IS NOT NULL"))
    memory.execute("ALTER TABLE operation ADD COLUMN grad INTEGER NOT NULL DEFAULT 1")
    for column in ("norm_before", "norm_after", "duration"):
        memory.execute(f"ALTER TABLE firing ADD COLUMN {column} REAL")
    _add_tables(memory)
    for number, entered in measured.items():
        _pack(memory, number, json.loads(entered))
    memory.executescript("ALTER TABLE backward DROP COLUMN measured; DROP TABLE node_run; DROP TABLE gradient")


def _from_2(memory: sqlite3.Connection) -> None:
    """Every backward was watched."""
    memory.execute("ALTER TABLE block_run ADD COLUMN watched INTEGER NOT NULL DEFAULT 1")


def _from_3(memory: sqlite3.Connection) -> None:
    """When hooks were removed was not recorded, nor where a backward stopped, nor what checkpoints compute again."""
    _add_tables(memory)
    _add(memory, "hook_since", "until")
    _add(memory, "backward", "stopped")


def _from_4(memory: sqlite3.Connection) -> None:
    """Where modules were built was recorded for those alone that edit in place."""
    _add(memory, "declaration", "inplace", "NOT NULL DEFAULT 1")


def _from_5(memory: sqlite3.Connection) -> None:
    """Nobody looked for a .grad that was None."""
    _add_tables(memory)


def _from_6(memory: sqlite3.Connection) -> None:
    """Gradients of nodes were measured at full detail only."""
    _add_tables(memory)


def _from_7(memory: sqlite3.Connection) -> None:
    """How a program trains was not recorded."""
    _add_tables(memory)


def _from_8(memory: sqlite3.Connection) -> None:
    """What collectives were given was not recorded."""
    _add_tables(memory)


def _from_9(memory: sqlite3.Connection) -> None:
    """Buffers were not recorded."""
    _add_tables(memory)


def _add_tables(memory: sqlite3.Connection) -> None:
    """Add the tables of today that are missing, empty."""
    memory.executescript(TABLES.replace("CREATE TABLE ", "CREATE TABLE IF NOT EXISTS "))


def _add(memory: sqlite3.Connection, table: str, column: str, rest: str = "") -> None:
    """Add a column of integers, unless an earlier migration has made the table as it is today."""
    if column not in {name for _, name, *_ in memory.execute(f"PRAGMA table_info({table})")}:
        memory.execute(f"ALTER TABLE {table} ADD COLUMN {column} INTEGER {rest}")


def _pack(memory: sqlite3.Connection, number: int, entered: list[int]) -> None:
    """Turn the measurements of one backward into a layout of its own, and numbers."""
    where = "WHERE backward = ? ORDER BY"
    ran = memory.execute(f"SELECT node, thread FROM node_run {where} position", (number,)).fetchall()
    times = memory.execute(f"SELECT started, duration FROM node_run {where} position", (number,)).fetchall()
    order = f"FROM gradient {where} node, side, position"
    places = memory.execute(f"SELECT node, side, position {order}", (number,)).fetchall()
    statistics = memory.execute(f"SELECT {_STATISTICS} {order}", (number,)).fetchall()
    gradients = [(*place, row) for row, place in enumerate(places)]
    layout = (number, _packed("i", [entered]), _packed("i", ran), _packed("i", gradients))
    memory.execute("INSERT INTO layout VALUES (?, ?, ?, ?)", layout)
    numbers = (number, number, _packed("d", times), _packed("d", statistics))
    memory.execute("INSERT INTO measurement VALUES (?, ?, ?, ?)", numbers)


def _packed(kind: str, rows: list[tuple[float, ...]] | list[list[int]]) -> bytes:
    """Rows of numbers as little-endian bytes. Raises ValueError for anything that is not a number."""
    values = [value for row in rows for value in row]
    try:
        return struct.pack(f"<{len(values)}{kind}", *values)
    except struct.error as error:
        raise ValueError(str(error)) from None


_MIGRATIONS: tuple[Callable[[sqlite3.Connection], None], ...] = (
    _from_1,
    _from_2,
    _from_3,
    _from_4,
    _from_5,
    _from_6,
    _from_7,
    _from_8,
    _from_9,
)
assert len(_MIGRATIONS) == SCHEMA - 1, "each past schema has a migration"
