"""One bad value in any table and column of a recording: a command answers, or says in one sentence that it cannot."""

from __future__ import annotations

import contextlib
import inspect
import re
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path

import pytest

from gradscope.errors import Exit, GradscopeError
from gradscope.store import file
from gradscope.store.calls import read_calls
from gradscope.store.compiled_tables import write_captured, write_compiled_run
from gradscope.store.joint_tables import write_region
from gradscope.store.reader import Recording, load
from gradscope.store.schema import APPLICATION_ID, SCHEMA, TABLES
from gradscope.store.writer import Writer
from tests import by_hand
from tests.commands import much_goes_wrong
from tests.commands.test_fuzz import ANSWERS, talk_of
from tests.store.test_compiled_tables import CAPTURED, RUN
from tests.store.test_joint_tables import REGION
from tests.torch_versions import needs_saved_tensors

pytestmark = needs_saved_tensors
LAX = re.sub(r" NOT NULL| REFERENCES string| WITHOUT ROWID", "", TABLES)  # a file may be of any make
COLUMNS = {
    table: [(row[1], row[2]) for row in made.execute(f"PRAGMA table_info({table})")]
    for made in [sqlite3.connect(":memory:")]
    for _ in [made.executescript(LAX)]
    for (table,) in made.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
}
NOWHERE = (-1, 2**62)  # dangling ids, and numbers that cannot be
BAD: dict[str, tuple[object, ...]] = {
    "INTEGER": ("seven", None, *NOWHERE),
    "REAL": ("soon", None, float("inf"), -1e308),
    "TEXT": (7, None, "{", '{"a": [null]}', "[[9223372036854775808, null]]"),
    "BLOB": ("text", None, b"\x00", b"\xff" * 40),
}
EXPLAIN, COPY = ("explain",), ("scrub", "-f", "-o", "out.gscope")
COMMANDS = (
    EXPLAIN,
    ("graph", "--fmt", "text"),
    ("graph", "--fmt", "json"),
    ("open", "-f", "-o", "page.html"),
    ("who", "0.weight"),
    ("why", "0.weight"),
    ("hooks",),
    ("times",),
    ("grads",),
    ("memory",),
    ("steps",),
    ("levels",),
    ("ranks",),
    ("joint",),
    ("compiled",),
    ("replay",),
    ("info",),
    COPY,
)
NO_NAME = {name: {Exit.USAGE} if name in ("who", "why") else set() for name, *_ in COMMANDS}  # a name that is not there
# Tables that are read where tensors are computed with, or for a failure of another kind.
UNREAD = {"condition", "dispatch", "exchange", "storage", "tensor", "declaration"}
CONNECT = file._connect
# What a row of a table is that no run here fills: 1 for a number, and these.
TEXTS = {
    "evidence": "{}",
    "kind": "tensor",
    "arguments": "[]",
    "value": "1",
    "shape": "[]",
    "size": "1",
    "norm": "1",
    "members": "[]",
    "types": "[]",
}
Read = Callable[[Path], None]


def compiled(path: Path) -> None:
    writer = Writer(path)
    writer.set_run(asdict(by_hand.RUN))
    write_region(writer, REGION)
    write_captured(writer, CAPTURED)
    write_compiled_run(writer, RUN)
    writer.close({})


def alone(path: Path) -> None:
    """Leave a recording no source but its program's: each explanation would parse all these tests and their helpers."""
    with contextlib.closing(sqlite3.connect(path)) as database, database:
        kept = "SELECT id FROM string WHERE text = ?"
        gone = database.execute(f"DELETE FROM source WHERE file NOT IN ({kept})", (much_goes_wrong.__file__,))
        assert gone.rowcount
        assert database.execute("SELECT count(*) FROM source").fetchone() == (1,)


def lax(source: Path, path: Path, fill: bool) -> Path:
    """The same recording in tables that take any value, with a row in those that the run left empty."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as made:
        made.executescript(
            f"PRAGMA page_size = 512; PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {SCHEMA}; {LAX}"
        )
        made.execute("ATTACH ? AS real", (str(source),))
        for table, columns in COLUMNS.items():
            made.execute(f"INSERT INTO {table} SELECT * FROM real.{table}")
            empty = not made.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
            if fill and empty and not table.startswith(("joint_", "compiled_")):
                row = [
                    TEXTS.get(name, "odd") if kind == "TEXT" else b"" if kind == "BLOB" else 1 for name, kind in columns
                ]
                made.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row)
    return path


@pytest.fixture(scope="module")
def bases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """By the first word of a table's name: the recording in which to damage it; "" for all others."""
    folder = tmp_path_factory.mktemp("bases")
    much_goes_wrong.recorded(folder / "real.gscope")
    alone(folder / "real.gscope")
    compiled(folder / "made.gscope")
    whole = lax(folder / "real.gscope", folder / "base.gscope", fill=True).read_bytes()
    other = lax(folder / "made.gscope", folder / "other.gscope", fill=False).read_bytes()
    return {"": whole, "joint": other, "compiled": other}


def base_of(table: str, bases: dict[str, bytes]) -> bytes:
    return bases.get(table.partition("_")[0], bases[""])


def damaged(content: bytes, path: Path, table: str) -> Iterator[tuple[str, object]]:
    """The recording at `path` with one bad value after the other, in the first or the last row; says which."""
    for column, kind in COLUMNS[table]:
        for number, value in enumerate(BAD[kind]):
            row = "min" if (number + len(column)) % 3 else "max"
            path.unlink(missing_ok=True)  # what the last reader left in memory may hold a lock on it
            path.write_bytes(content)
            with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as database:
                database.execute("PRAGMA synchronous = OFF")
                try:
                    where = f"rowid = (SELECT {row}(rowid) FROM {table})"
                    changed = database.execute(f"UPDATE {table} SET {column} = ? WHERE {where}", (value,))
                except sqlite3.IntegrityError:  # rowids are integers in every file
                    continue
            assert changed.rowcount == 1
            yield f"{table}.{column} = {value!r}", value


def read_all(path: Path) -> None:
    """Ask a recording everything that it can be asked."""
    with load(path) as recording:
        for name, method in inspect.getmembers(Recording, inspect.isfunction):
            if not name.startswith("_") and name not in ("close", "scrub", "source"):
                needed = [one for one in inspect.signature(method).parameters.values() if one.default is one.empty]
                for given in [()] if len(needed) == 1 else [(0,), (2,)]:
                    with contextlib.suppress(GradscopeError):
                        list(filter(None, [getattr(recording, name)(*given)]))
        with contextlib.suppress(GradscopeError):
            list(recording.blocks())
    with contextlib.suppress(GradscopeError):
        read_calls(path, "Cube")


def readers(content: bytes) -> dict[str, list[tuple[str, ...]]]:
    """By table, the commands that read it in this recording."""
    Path("base.gscope").write_bytes(content)
    found: dict[str, list[tuple[str, ...]]] = {table: [] for table in COLUMNS}
    for command in COMMANDS:
        asked: list[str] = []
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(file, "_connect", lambda path, asked=asked: traced(path, asked))
            status, _, err = talk_of([*command, "base.gscope"])
        assert status in ANSWERS - {Exit.UNREADABLE} | NO_NAME[command[0]], err
        words = set(re.findall(r"(?:FROM|JOIN) (\w+)", " ".join(asked)))
        for table in words & found.keys():
            found[table].append(command)
    return found


def traced(path: Path, asked: list[str]) -> sqlite3.Connection:
    connection = CONNECT(path)
    connection.set_trace_callback(asked.append)
    return connection


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


@pytest.fixture(scope="module")
def reading(bases: dict[str, bytes], tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[tuple[str, ...]]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("reading"))
        both = [readers(bases[""]), readers(bases["joint"])]
    return {table: both[table.startswith(("joint_", "compiled_"))][table] for table in COLUMNS}


def wrong(command: tuple[str, ...]) -> str:
    """What is wrong with how a command ends, if anything is."""
    status, _, err = talk_of([*command, "bad.gscope"])
    if status not in ANSWERS | NO_NAME[command[0]] or "Traceback" in err:
        return f"gradscope {' '.join(command)} ends with {status}: {err[-300:]}"
    first, *hints = err.splitlines() or [""]
    one_sentence = first.startswith("gradscope: ") and len(first) < 400 and len(hints) <= 1
    return f"gradscope {' '.join(command)} says: {err[:300]}" if status == Exit.UNREADABLE and not one_sentence else ""


@pytest.mark.parametrize("table", COLUMNS)
def test_a_bad_value_is_one_sentence_or_does_no_harm(
    table: str, bases: dict[str, bytes], reading: dict[str, list[tuple[str, ...]]]
) -> None:
    """Each value meets one of the commands that read its table, in turn; what leads nowhere meets `explain` as well."""
    found = []
    commands = reading[table]
    for number, (what, value) in enumerate(damaged(base_of(table, bases), Path("bad.gscope"), table)):
        if value is None or table in UNREAD:
            read_all(Path("bad.gscope"))
        chosen = {commands[number % len(commands)]} if commands else set()
        if value == NOWHERE[1] and EXPLAIN in commands:
            chosen.add(EXPLAIN)
        found += [f"{what}: {words}" for command in chosen if (words := wrong(command))]
    assert found == []


def test_the_commands_read_all_other_tables(
    reading: dict[str, list[tuple[str, ...]]],
) -> None:
    assert {table for table, commands in reading.items() if set(commands) <= {COPY}} == UNREAD
