"""What is held against its like comes in the order of a table's key, whatever the order in which it was written."""

from __future__ import annotations

import random
import sqlite3

import pytest

from gradscope.store import sequence_reader
from gradscope.store.rows import Rows, unpacked
from gradscope.store.schema import TABLES

READERS = {
    "operation": sequence_reader.read_operators,
    "node": sequence_reader.read_nodes,
    "edge": sequence_reader.read_edges,
    "input_meta": sequence_reader.read_received,
    "saved": sequence_reader.read_saved,
}


@pytest.mark.parametrize("table", READERS)
def test_rows_come_in_the_order_of_their_key(table: str) -> None:
    connection = sqlite3.connect(":memory:")
    connection.executescript(TABLES)
    width = len(connection.execute(f"PRAGMA table_info({table})").fetchall())
    # Two of the things that hold rows; the key's next column ascends, all others descend.
    rows = [(one, place, *[99 - place] * (width - 2)) for one in (1, 2) for place in range(50)]
    random.Random(0).shuffle(rows)
    connection.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * width)})", rows)
    columns = [unpacked(text) for text in READERS[table](Rows(connection), 2)]
    assert {len(column) for column in columns} == {50}
    ascending, descending = list(range(50)), list(range(99, 49, -1))
    signless = [[abs(value) for value in column] for column in columns]
    assert all(column in (ascending, descending, [value + 1 for value in descending]) for column in signless)
