"""Bad files give one sentence and exit status 3, whatever is wrong with them."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from gradscope.errors import Exit, GradscopeError, UnreadableError
from gradscope.store import file
from gradscope.store.reader import load
from gradscope.store.schema import APPLICATION_ID
from tests import by_hand
from tests.recordings import write


def read_everything(path: Path) -> None:
    with load(path) as recording:
        recording.run()
        recording.census()
        recording.faults()
        recording.calls(alike=True)
        recording.hooks()
        list(recording.blocks())
        recording.flow()
        recording.flow_tensors()
        recording.flow_ends()
        recording.optimizer_looks()
        recording.leaf_gradients()
        recording.survivors()
        recording.holders()
        recording.graph_sizes()
        recording.sources()
        for backward in recording.backwards():
            recording.graph(backward.number)
            recording.node_runs(backward.number)
            recording.gradients(backward.number)
            recording.operators(backward.number)
            recording.nested(backward.number)
            recording.stored(backward.number)


def refused(path: Path) -> str:
    with pytest.raises(UnreadableError) as caught:
        read_everything(path)
    assert caught.value.exit_status == Exit.UNREADABLE
    assert "\n" not in caught.value.sentence
    return caught.value.sentence


def damage(path: Path, sql: str) -> Path:
    with sqlite3.connect(path) as connection:
        connection.executescript(sql)
    connection.close()
    return path


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    return write(tmp_path / "a.gscope", by_hand.small())


def test_missing(tmp_path: Path) -> None:
    assert "does not exist" in refused(tmp_path / "none.gscope")


def test_folder(tmp_path: Path) -> None:
    assert "is not a file" in refused(tmp_path)


def test_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.gscope")
    assert "is not a file" in refused(tmp_path / "pipe.gscope")


def test_empty(tmp_path: Path) -> None:
    (tmp_path / "a.gscope").touch()
    assert "is empty" in refused(tmp_path / "a.gscope")


def test_killed_before_the_tables(tmp_path: Path) -> None:
    assert "is empty" in refused(damage(tmp_path / "a.gscope", f"PRAGMA application_id = {APPLICATION_ID}"))


def test_foreign(tmp_path: Path) -> None:
    (tmp_path / "a.gscope").write_bytes(b"PK\x03\x04 a zip file")
    assert "not a gradscope recording" in refused(tmp_path / "a.gscope")


def test_foreign_database(tmp_path: Path) -> None:
    assert "another program" in refused(damage(tmp_path / "a.gscope", "CREATE TABLE t (x)"))


def test_newer_schema(recording: Path) -> None:
    assert "newer gradscope (schema 99" in refused(damage(recording, "PRAGMA user_version = 99"))


@pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() == 0, reason="root may read everything")
def test_unreadable(recording: Path) -> None:
    recording.chmod(0)
    assert "cannot be read" in refused(recording)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.999])
def test_truncated(recording: Path, share: float) -> None:
    content = recording.read_bytes()
    recording.write_bytes(content[: int(len(content) * share)])
    assert "is damaged" in refused(recording)


@pytest.mark.parametrize(
    "sql",
    [
        "DROP TABLE node",
        "DROP TABLE node; CREATE VIEW node AS SELECT * FROM edge",
        "DROP TABLE node; CREATE VIRTUAL TABLE node USING fts5(x)",
        "CREATE TRIGGER t AFTER INSERT ON node BEGIN SELECT 1; END",
        "UPDATE stack SET caller = id",
        "UPDATE call SET caller = id",
        "UPDATE node SET name = 99999",
        "UPDATE node SET name = 'text'",
        "UPDATE node SET stack = x'00'",
        "UPDATE node SET parent_name = name, parent = 77",
        "UPDATE node SET number = number + 1 WHERE number = 6",
        "UPDATE node SET levels = (SELECT id FROM string WHERE text = 'Net')",
        "DELETE FROM node WHERE number = 6",
        "UPDATE edge SET target = 7",
        "UPDATE edge SET source = -1 WHERE source = 0",
        "UPDATE tensor_type SET shape = '[1, \"a\"]'",
        "UPDATE tensor_type SET shape = '" + "[" * 100_000 + "'",
        "UPDATE frame SET origin = 3",
        "UPDATE string SET text = CAST(x'ff' AS TEXT)",
        "UPDATE backward SET roots = '[[0]]'",
        "UPDATE backward SET roots = '7'",
        "UPDATE backward SET roots = '[[7, 0]]'",
        "UPDATE layout SET entered = x'63000000'",
        "UPDATE layout SET entered = x'630000'",
        "UPDATE layout SET entered = 'text'",
        "UPDATE layout SET ran = x'0000000000000000'",
        "UPDATE layout SET gradients = x'00000000020000000000000000000000'",
        "UPDATE layout SET gradients = x'00000000000000000000000000000000'",
        "UPDATE backward SET started = 9e999",
        "UPDATE backward SET graph = 12",
        "UPDATE firing SET hook = 5",
        "UPDATE firing SET node = 50",
        "UPDATE hook_on SET hook = 5",
        "UPDATE run SET value = '{' WHERE name = 'argv'",
        "UPDATE run SET value = '[1]' WHERE name = 'argv'",
        "UPDATE run SET value = 'NaN' WHERE name = 'started'",
        "DELETE FROM run",
        "INSERT INTO dropped VALUES ('x', 'many')",
        "UPDATE measurement SET times = x'00'",
    ],
)
def test_damaged_content(recording: Path, sql: str) -> None:
    assert "is damaged" in refused(damage(recording, sql))


def test_random_damage_is_never_a_traceback(recording: Path, tmp_path: Path) -> None:
    content = recording.read_bytes()
    chance = random.Random(7)
    refused = 0
    for _ in range(150):
        broken = bytearray(content)
        for _ in range(chance.choice((1, 20, 400))):
            broken[chance.randrange(100, len(broken))] = chance.randrange(256)
        copy = tmp_path / "broken.gscope"
        copy.write_bytes(broken)
        try:
            read_everything(copy)
        except GradscopeError:
            refused += 1
    assert 0 < refused < 150  # damage of both kinds was tried


KILLED = """
import os, sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("PRAGMA cache_size = 1")
connection.execute("BEGIN IMMEDIATE")
connection.executemany("INSERT INTO string VALUES (?, ?)", ((n, "x" * 900) for n in range(10**6, 10**6 + 2000)))
connection.execute("UPDATE run SET value = 'broken'")
os._exit(9)
"""


def test_killed_in_a_write_is_recovered_in_a_copy(recording: Path) -> None:
    subprocess.run([sys.executable, "-c", KILLED, recording], check=False)
    journal = recording.with_name("a.gscope-journal")
    assert journal.exists()
    before = recording.read_bytes()
    with load(recording) as opened:
        assert opened.recovered
        assert opened.run() == by_hand.RUN
        assert opened.graph() == by_hand.small()
        copy = opened.tables.file.copy
    assert copy is not None
    assert not copy.exists()
    assert journal.exists()
    assert recording.read_bytes() == before


@pytest.mark.parametrize("looked_into", [False, True], ids=["before it is looked into", "before it is copied"])
def test_a_journal_that_its_writer_removes_meanwhile_is_not_missed(
    recording: Path, monkeypatch: pytest.MonkeyPatch, looked_into: bool
) -> None:
    """A run that goes on removes its journal when it has written; it was seen, and is needed no more."""
    journal = recording.with_name("a.gscope-wal")
    journal.write_bytes(b"soon gone")
    ends = file._ends_with

    def removed(path: Path, ending: bytes) -> bool:
        if not looked_into:
            path.unlink()
        found = ends(path, ending)
        path.unlink(missing_ok=True)
        return found

    monkeypatch.setattr(file, "_ends_with", removed)
    with load(recording) as opened:
        assert opened.run() == by_hand.RUN


def test_journal_that_names_a_file_to_delete_is_refused(recording: Path, tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", KILLED, recording], check=False)
    victim = tmp_path / "victim"
    victim.write_text("precious")
    name = os.fsencode(victim)
    with recording.with_name("a.gscope-journal").open("ab") as journal:
        check = sum(name) & 0xFFFFFFFF
        journal.write((1).to_bytes(4, "big") + name + len(name).to_bytes(4, "big") + check.to_bytes(4, "big"))
        journal.write(bytes.fromhex("d9d505f920a163d7"))
    assert "was not left by gradscope" in refused(recording)
    assert victim.exists()


def test_write_ahead_log_is_recovered_in_a_copy(recording: Path, tmp_path: Path) -> None:
    writer = sqlite3.connect(recording, isolation_level=None)
    writer.execute("PRAGMA journal_mode = WAL")
    writer.execute("INSERT INTO fault VALUES ('p', 'm', 1)")
    folder = tmp_path / "killed"
    folder.mkdir()
    for name in ("a.gscope", "a.gscope-wal"):
        shutil.copyfile(tmp_path / name, folder / name)
    writer.close()
    with load(folder / "a.gscope") as opened:
        assert opened.recovered
        assert len(opened.faults()) == 1
    assert {path.name for path in folder.iterdir()} == {"a.gscope", "a.gscope-wal"}


def test_running_writer_is_no_damage(recording: Path) -> None:
    writer = sqlite3.connect(recording, isolation_level=None)
    writer.execute("BEGIN IMMEDIATE")
    writer.execute("INSERT INTO fault VALUES ('p', 'm', 1)")
    with load(recording) as opened:
        assert not opened.recovered
        assert opened.graph() == by_hand.small()
    writer.close()
