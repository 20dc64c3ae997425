"""Recordings that no gradscope would write: thousands of them, each from a number alone."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from gradscope.store.schema import APPLICATION_ID, TABLES
from tests.by_hand import HOSTILE

VALUES: tuple[object, ...] = (
    *HOSTILE,
    *(None, 0, 1, -1, 2, 7, 255, 2**31, 2**40, 2**62, 2**63 - 1, -(2**63), 0.0, -0.5, 1e308, float("inf")),
    *(b"", b"\x00\xff", b"\xed\xb3\xbf", b"\x80\x04cos\nsystem\n(S'true'\ntR."),
    *("", " ", "0", "null", "true", "NaN", "-Infinity", "{}", "[]", "[[]]", "[null]", "[[0, 0]]", "[[[[0]]]]"),
    *("[1e999]", '["a"]', "[9223372036854775807]", "[-1, -1]", "[" * 5000, "[" + "1," * 5000 + "1]", "1" * 5000),
    *("x" * 100_000, "\x1b]0;title\x07\x1b[2J", "\u202e\u2066\n\r\n", "../../etc/passwd"),
    *("Grad:1 Vmap:99999999999999999999", "Grad:x", "Grad", "import os; os._exit(9)"),
)
ENDLESS = "CREATE VIEW {} AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i FROM n) SELECT * FROM n"
POINTERS = (
    "caller",
    "parent",
    "nested_in",
    "target",
    "source",
    "node",
    "graph",
    "stack",
    "frame",
    "name",
    "hook",
    "block",
)
Mutation = Callable[[random.Random, Path, bytes], None]


def truncated(chance: random.Random, path: Path, content: bytes) -> None:
    path.write_bytes(content[: chance.randrange(len(content))])


def flipped(chance: random.Random, path: Path, content: bytes) -> None:
    broken = bytearray(content)
    first = chance.choice((0, 0, 100, 4096))
    for _ in range(chance.choice((1, 3, 20, 400))):
        broken[chance.randrange(first, len(broken))] = chance.randrange(256)
    path.write_bytes(broken)


def shuffled(chance: random.Random, path: Path, content: bytes) -> None:
    """Whole pages in the place of others, so that trees have circles."""
    pages = [content[at : at + 4096] for at in range(0, len(content), 4096)]
    for _ in range(chance.randrange(1, 4)):
        pages[chance.randrange(1, len(pages))] = chance.choice(pages)
    path.write_bytes(b"".join(pages))


def spliced(chance: random.Random, path: Path, content: bytes) -> None:
    at, length = chance.randrange(len(content)), chance.choice((1, 7, 4096, 10_000))
    path.write_bytes(content[:at] + chance.randbytes(length) + content[at + chance.choice((0, length)) :])


def journalled(chance: random.Random, path: Path, content: bytes) -> None:
    """A journal that no run left."""
    path.write_bytes(content)
    ending = chance.choice(("-wal", "-journal"))
    header = {"-wal": bytes.fromhex("377f0682002de218"), "-journal": bytes.fromhex("d9d505f920a163d7")}[ending]
    path.with_name(path.name + ending).write_bytes(
        chance.choice((b"", header)) + chance.randbytes(chance.choice((8, 9000)))
    )


def revalued(chance: random.Random, path: Path, content: bytes) -> None:
    """A value of another kind, or of an absurd size."""
    with opened(path, content) as database:
        for _ in range(chance.choice((1, 1, 3))):
            table, column = chance.choice(columns(database))
            row = chance.randrange(1000)
            one = f"SELECT {column} FROM {table} LIMIT 1 OFFSET {row} % max(1, (SELECT count(*) FROM {table}))"
            where = chance.choice(("", f"WHERE {column} = ({one})"))
            run(database, f"UPDATE OR IGNORE {table} SET {column} = ? {where}", chance.choice(VALUES))


def circular(chance: random.Random, path: Path, content: bytes) -> None:
    """Callers that call each other, edges that lead back, nodes that are their own parents."""
    with opened(path, content) as database:
        pointers = [one for one in columns(database) if one[1] in POINTERS]
        for _ in range(chance.choice((1, 2, 5))):
            table, column = chance.choice(pointers)
            run(database, f"UPDATE OR IGNORE {table} SET {column} = ?", chance.randrange(-1, 12))
            other = chance.choice(("rowid", "id", "number", "caller", "source", f"{column} + 1", f"{column} - 1"))
            run(database, f"UPDATE OR IGNORE {table} SET {column} = {other}")


def emptied(chance: random.Random, path: Path, content: bytes) -> None:
    with opened(path, content) as database:
        for _ in range(chance.choice((1, 2, 4))):
            table, column = chance.choice(columns(database))
            run(database, f"DELETE FROM {table} WHERE {chance.choice(('1', f'{column} % 2', f'{column} > 3'))}")


def multiplied(chance: random.Random, path: Path, content: bytes) -> None:
    """Long chains of callers, and many rows where one is expected."""
    with opened(path, content) as database:
        count = chance.choice((300, 3000))
        numbers = f"WITH RECURSIVE n(i) AS (SELECT 1000 UNION ALL SELECT i + 1 FROM n WHERE i < {1000 + count})"
        kind = chance.randrange(4)
        if kind == 0:
            run(database, f"{numbers} INSERT OR REPLACE INTO stack SELECT i, i - 1, 1 FROM n")
            run(
                database,
                f"UPDATE {chance.choice(('node', 'operation', 'backward'))} SET stack = {1000 + count} - rowid % 99",
            )
            run(database, f"UPDATE node SET stack = {1000 + count} - number")
        elif kind == 1:
            run(database, f"{numbers} INSERT OR REPLACE INTO call SELECT i, i - 1, 1, 1, 0, 1, 1 FROM n")
            run(database, f"UPDATE {chance.choice(('node', 'operation'))} SET call = {1000 + count}")
        elif kind == 2:
            run(database, f"{numbers} INSERT OR REPLACE INTO edge SELECT 1, 0, i, 1, 0 FROM n")
            run(database, f"UPDATE graph SET edges = edges + {count}")
        else:
            table, _ = chance.choice(columns(database))
            names = [column for each, column in columns(database) if each == table]
            key = names[0] if chance.random() < 0.5 else names[min(1, len(names) - 1)]
            chosen = ", ".join("i" if name == key else name for name in names)
            run(
                database,
                f"{numbers} INSERT OR IGNORE INTO {table} SELECT {chosen} FROM n, (SELECT * FROM {table} LIMIT 1)",
            )


def remade(chance: random.Random, path: Path, content: bytes) -> None:
    """Other tables under the same names."""
    with opened(path, content) as database:
        table, column = chance.choice(columns(database))
        changes = (
            f"ALTER TABLE {table} RENAME COLUMN {column} TO other",
            f"ALTER TABLE {table} DROP COLUMN {column}",
            f"ALTER TABLE {table} ADD COLUMN other",
            f"DROP TABLE {table}",
            f"DROP TABLE {table}; CREATE TABLE {table} (a)",
            f"DROP TABLE {table}; {ENDLESS.format(table)}",
            f"CREATE TRIGGER t AFTER INSERT ON {table} BEGIN DELETE FROM {table}; END",
            f"DROP TABLE {table}; CREATE TABLE {table} AS SELECT 1 AS {column}, 2 AS b",
            "PRAGMA user_version = -1", "PRAGMA user_version = 2147483647", "PRAGMA application_id = 7",
            "PRAGMA encoding = 'UTF-16'; VACUUM",
        )  # fmt: skip
        with suppress(sqlite3.Error):
            database.executescript(f"COMMIT; {chance.choice(changes)}; BEGIN")


def foreign(chance: random.Random, path: Path, content: bytes) -> None:
    """Something that was never a recording."""
    path.unlink(missing_ok=True)
    kind = chance.randrange(4)
    if kind == 0:
        path.write_bytes(chance.randbytes(chance.choice((0, 1, 15, 16, 100, 5000))))
    elif kind == 1:
        path.write_bytes(b"SQLite format 3\0" + chance.randbytes(chance.choice((0, 84, 5000))))
    else:
        database = sqlite3.connect(path, isolation_level=None)
        database.executescript(TABLES if kind == 2 else "CREATE TABLE photos (a, b); INSERT INTO photos VALUES (1, 2)")
        database.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        database.close()


MUTATIONS: tuple[Mutation, ...] = (
    *(truncated, flipped, flipped, shuffled, spliced, journalled, foreign, remade, emptied),
    *(revalued,) * 6,
    *(circular,) * 3,
    multiplied,
)


def mutant(number: int, folder: Path, originals: list[bytes]) -> Path:
    """The recording with this number."""
    chance = random.Random(number)
    for old in folder.glob("mutant*"):
        old.unlink()
    path = folder / "mutant.gscope"
    MUTATIONS[number % len(MUTATIONS)](chance, path, chance.choice(originals))
    return path


class opened:
    """A copy, open for changes."""

    def __init__(self, path: Path, content: bytes) -> None:
        path.write_bytes(content)
        self._path = path

    def __enter__(self) -> sqlite3.Connection:
        self._database = sqlite3.connect(self._path, isolation_level=None)
        self._database.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN")
        return self._database

    def __exit__(self, *error: object) -> None:
        run(self._database, "COMMIT")
        self._database.close()


def run(database: sqlite3.Connection, sql: str, *values: object) -> None:
    """Change it; a change that SQLite refuses leaves the file as it is."""
    with suppress(sqlite3.Error):
        database.execute(sql, values)


def columns(database: sqlite3.Connection) -> list[tuple[str, str]]:
    """Every (table, column)."""
    tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
    return [(table, column[1]) for table in tables for column in database.execute(f"PRAGMA table_info({table})")]
