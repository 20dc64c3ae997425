"""The writer keeps its promises when writing is interrupted or fails."""

from __future__ import annotations

import sqlite3
import sys
import threading
from pathlib import Path

import pytest

from gradscope.store.reader import load
from gradscope.store.writer import Writer
from tests.capture.side_by_side import python


class Interrupting:
    """A row's value that raises as a signal handler would, the first time SQLite asks for it."""

    def __init__(self) -> None:
        self.times = 0

    def __conform__(self, protocol: object) -> str:
        self.times += 1
        if self.times == 1:
            raise KeyboardInterrupt
        return "whole"


@pytest.fixture
def writer(tmp_path: Path) -> Writer:
    return Writer(tmp_path / "run.gscope")


def strings(path: Path) -> list[tuple[int, str]]:
    connection = sqlite3.connect(path)
    found = connection.execute("SELECT id, text FROM string ORDER BY id").fetchall()
    connection.close()
    return found


def test_a_commit_that_a_signal_interrupts_loses_nothing(writer: Writer) -> None:
    writer.string("before")
    writer.add("string", (2, Interrupting()))
    writer.add("dropped", ("why", 1))
    with pytest.raises(KeyboardInterrupt):
        writer.commit()
    writer.add("string", (3, "after"))
    writer.close({})
    assert writer.failure is None
    assert strings(writer.path) == [(1, "before"), (2, "whole"), (3, "after")]


def test_a_row_that_cannot_be_written_stops_the_recording_and_keeps_what_was(writer: Writer) -> None:
    writer.string("before")
    writer.commit()
    writer.string("with it")
    writer.add("string", (2**70, "too large a number"))
    writer.commit()
    writer.string("later")
    writer.close({"ended": True})
    assert writer.failure == "Python int too large to convert to SQLite INTEGER"
    assert strings(writer.path) == [(1, "before")]
    connection = sqlite3.connect(writer.path)
    assert ("stopped", f'"{writer.failure}"') in connection.execute("SELECT name, value FROM run").fetchall()
    connection.close()


def test_another_file_in_its_place_is_not_written_to(writer: Writer) -> None:
    writer.path.unlink()
    writer.path.write_text("mine")
    writer.string("x")
    writer.commit()
    assert writer.failure == "the file has been removed or replaced"
    writer.close({})
    assert writer.path.read_text() == "mine"


def test_counts_are_in_the_file_before_the_run_ends(writer: Writer) -> None:
    writer.fault("nodes", "bad")
    writer.drop("steps", 2)
    writer.drop("steps")
    writer.commit()
    connection = sqlite3.connect(f"{writer.path.as_uri()}?mode=ro", uri=True)
    writer.close({})
    assert connection.execute("SELECT * FROM dropped").fetchall() == [("steps", 3)]
    assert connection.execute("SELECT * FROM fault").fetchall() == [("nodes", "bad", 1)]
    connection.close()


def test_a_late_writer_waits_for_events_also_when_its_heart_beats(tmp_path: Path) -> None:
    writer = Writer(tmp_path / "late.gscope", late=True)
    writer.set_run({"argv": []})
    for _ in range(3):
        writer.beat({"duration": 1.0}, lambda: ())
    assert not writer.path.exists()
    writer.close({})
    assert not writer.path.exists()


def test_a_full_batch_does_not_wait_for_a_heartbeat_that_waits_for_its_lock(
    writer: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    beating, asks, written = threading.Event(), threading.Event(), threading.Event()

    def beat() -> None:
        with writer._writing:  # as Writer.beat does
            beating.set()
            asks.wait()
            writer.string("from the heartbeat")
            writer.add("source", (0, "text"))

    def fill() -> None:
        writer.set_run({"a": 1})
        writer.add("source", (0, "text"))
        written.set()

    def commit() -> None:
        asks.set()
        Writer.commit(writer)

    monkeypatch.setattr("gradscope.store.writer._BATCH", 0)
    heartbeat = threading.Thread(target=beat, daemon=True)
    heartbeat.start()
    beating.wait()
    monkeypatch.setattr(writer, "commit", commit)
    threading.Thread(target=fill, daemon=True).start()
    assert written.wait(60)
    heartbeat.join(60)
    assert not heartbeat.is_alive()


def test_a_commit_inside_of_what_a_signal_interrupted_is_left_to_the_next(writer: Writer) -> None:
    writer.string("a")
    with writer._lock:
        writer.commit()
        assert "string" in writer._rows
    writer.commit()
    assert "string" not in writer._rows


def test_an_open_block_is_replaced_by_the_next_look_and_by_the_whole(writer: Writer) -> None:
    name = writer.string("aten.mul.Tensor")

    def tails(count: int):  # type: ignore[no-untyped-def]
        rows = {"operation": [(-1, number, name, 0, 0, None, 1) for number in range(count)]}
        return lambda: [(0, count, 0, rows, (0, None, 0.5, None))]

    def seen() -> list[tuple[int, int]]:
        with load(copied(writer.path)) as recording:
            return [(block.number, len(block.operations)) for block in recording.blocks()]

    writer.set_run(RUN)
    writer.beat({}, tails(3))
    writer.beat({}, tails(2))
    assert [count for _, count in seen()] == [2]
    block = writer.number("block")
    writer.add("block", (block, 4, 0))
    writer.add_all("operation", ((block, number, name, 0, 0, None, 1) for number in range(4)))
    writer.add("block_run", (0, block, 0, None, 0.5, None, 1))
    writer.beat({}, tails(4))
    assert seen() == [(0, 4)]
    writer.close({})
    connection = sqlite3.connect(writer.path)
    assert connection.execute("SELECT count(*) FROM operation").fetchone() == (4,)
    connection.close()


RUN: dict[str, object] = {
    "argv": ["x"], "cwd": "/", "gradscope": "0", "torch": "2", "python": "3", "platform": "p", "pid": 1,
    "detail": "ops", "started": 1.0,
}  # fmt: skip


def copied(path: Path) -> Path:
    """The file and its log as a kill would leave them."""
    to = path.with_name("killed.gscope")
    for ending in ("", "-wal"):
        to.with_name(to.name + ending).write_bytes(path.with_name(path.name + ending).read_bytes())
    return to


FULL = """
import pathlib, resource, signal
from gradscope.errors import UsageError
from gradscope.store.writer import Writer
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # a file may not grow any more: as good as a full disk
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, resource.RLIM_INFINITY))
try:
    Writer(pathlib.Path("run.gscope"))
except UsageError as error:
    print(error.sentence)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit on the size of files")
def test_what_cannot_be_begun_on_a_full_disk_takes_none_of_it(tmp_path: Path) -> None:
    assert python(tmp_path, "-c", FULL).stdout.startswith("cannot write run.gscope: ")
    assert list(tmp_path.iterdir()) == []
