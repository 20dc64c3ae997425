"""What is held against its like comes in the order of a table's key, whatever the order in which it was written."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterator
from contextlib import closing

import pytest

from gradscope.store import sequence_reader
from gradscope.store.in_graphs import _NAMES
from gradscope.store.operation_reader import _OPERATIONS
from gradscope.store.rows import INTEGER, MAYBE, Rows, StandFor, unpacked
from gradscope.store.schema import TABLES

READERS = {
    "operation": sequence_reader.read_operators,
    "node": sequence_reader.read_nodes,
    "edge": sequence_reader.read_edges,
    "input_meta": sequence_reader.read_received,
    "saved": sequence_reader.read_saved,
}
STAND_FOR = {"operation": _OPERATIONS, "node": _NAMES}


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:")) as opened:
        opened.executescript(TABLES)
        yield opened


def fill(connection: sqlite3.Connection, table: str) -> None:
    """Two of the things that hold rows; the key's next column ascends, all others descend."""
    width = len(connection.execute(f"PRAGMA table_info({table})").fetchall())
    rows = [(one, place, *[99 - place] * (width - 2)) for one in (1, 2) for place in range(50)]
    random.Random(0).shuffle(rows)
    connection.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * width)})", rows)


@pytest.mark.parametrize("table", READERS)
def test_rows_come_in_the_order_of_their_key(connection: sqlite3.Connection, table: str) -> None:
    fill(connection, table)
    columns = [unpacked(text) for text in READERS[table](Rows(connection), 2)]
    assert {len(column) for column in columns} == {50}
    ascending, descending = list(range(50)), list(range(99, 49, -1))
    signless = [[abs(value) for value in column] for column in columns]
    assert all(column in (ascending, descending, [value + 1 for value in descending]) for column in signless)


@pytest.mark.parametrize("table", STAND_FOR)
def test_what_rows_stand_for_comes_in_the_order_of_their_key(connection: sqlite3.Connection, table: str) -> None:
    fill(connection, table)
    connection.execute("INSERT INTO backward SELECT 0, '', 2, 0, 0, '', '', 0, 0, NULL, 0, 0, 0, 0.0, 0.0, 0, NULL")
    stand_for = StandFor((INTEGER | MAYBE,) * 5, lambda row: row[0])
    parameter = {"operation": 2, "node": 0}[table]
    assert Rows(connection).each(STAND_FOR[table], stand_for, parameter) == list(range(99, 49, -1))


@pytest.mark.parametrize("value", ["'1'", "'1,2'", "'x'", "1.0", "NULL", "x'31'"])
def test_rows_that_stand_for_something_are_integers(connection: sqlite3.Connection, value: str) -> None:
    rows, sql = Rows(connection), "SELECT 1 UNION ALL SELECT {}"
    assert rows.each(sql.format(2), StandFor((INTEGER,), list)) == [[1], [2]]
    assert rows.each("SELECT 1 WHERE 0", StandFor((INTEGER,), list)) == []
    with pytest.raises((ValueError, sqlite3.Error)):
        rows.each(sql.format(value), StandFor((INTEGER,), list))
