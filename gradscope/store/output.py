"""The SQLite file that a recording is written to.

The surprise: the database runs in WAL mode with an exclusive lock and no fsync. A killed process loses nothing that
was committed, a commit costs tens of microseconds, and network disks need no shared memory.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import sqlite3
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from gradscope.errors import UsageError
from gradscope.signals import let_through
from gradscope.store import retention
from gradscope.store.retention import Gone, prune
from gradscope.store.schema import APPLICATION_ID, OPEN_BLOCK, SCHEMA, TABLES

Row = tuple[object, ...]
Content = Mapping[str, Iterable[Row]]  # rows by table
_PAGE = 4096  # bytes
_LAST_WORDS = 65_536  # bytes kept free for the run's end
_SET = "INSERT OR REPLACE INTO run VALUES (?, ?)"
_WRITABLE = "check the directory and its permissions, or name another file with -o"
_ENDINGS = ("", "-wal", "-shm", "-journal")


class Output:
    """One database, open for writing. Any method may raise sqlite3.Error or OSError."""

    def __init__(self, path: Path, shown: Path, limit: int | None = None) -> None:
        """Create it; `shown` is the path as the user wrote it. It never has more than `limit` bytes.

        Raises UsageError when it cannot be.
        """
        self._path, self._limit = path, limit
        self._database = _create(path, shown)
        self._first = self._database.total_changes
        self._allow(_LAST_WORDS)
        self._file = _identity(path)
        self._shown: set[int] = set()  # threads of which an open block is in the file

    @property
    def connection(self) -> sqlite3.Connection:
        """The open database."""
        return self._database

    def write(self, content: Content, closed: set[object]) -> None:
        """Insert rows. The open blocks of the threads that have `closed` theirs are in them: take the others out."""
        if self._file != _identity(self._path):
            raise FileNotFoundError("the file has been removed or replaced")
        for thread in [one for one in self._shown if one in closed]:
            self._hide(thread)
        for table, rows in content.items():
            self._insert(table, rows)

    def show(self, thread: int, operations: int, writes: int, rows: Content, run: Row) -> None:
        """Write a block that a thread is still filling; `run` is its (thread, backward, started, versions)."""
        block = -1 - thread
        if thread in self._shown:
            self._hide(thread)
        self._shown.add(thread)
        self._insert("block", [(block, operations, writes)])
        for table, content in rows.items():
            self._insert(table, content)
        self._insert("block_run", [(OPEN_BLOCK + thread, block, *run, True)])

    def _hide(self, thread: int) -> None:
        self._shown.discard(thread)
        for table, column in (("block", "id"), ("operation", "block"), ("written", "block"), ("block_run", "block")):
            self._database.execute(f"DELETE FROM {table} WHERE {column} = ?", (-1 - thread,))

    def _insert(self, table: str, rows: Iterable[Row]) -> None:
        waiting = iter(rows)
        for first in waiting:
            sql = f"INSERT OR REPLACE INTO {table} VALUES ({','.join('?' * len(first))})"
            self._database.execute(sql, first)
            self._database.executemany(sql, waiting)

    def forget_before(self, step: int) -> int:
        """Delete the steps before one, and say how many there were."""
        return retention.forget_before(self._database, step)

    def forget_oldest(self, share: int) -> int:
        """Delete the oldest steps, one in `share`, and say how many; the newest always stays."""
        return retention.forget_oldest(self._database, share)

    def unused(self, spared: Gone) -> dict[str, set[int]]:
        """The content that no step points at, but for what is `spared`."""
        return retention.unused(self._database, spared)

    def delete(self, content: Gone) -> None:
        """Delete content."""
        retention.delete(self._database, content)

    def commit(self) -> None:
        """Make what was written safe against a kill."""
        self._database.commit()

    def keep(self, path: Path, words: dict[str, object]) -> None:
        """Leave what is committed in a plain file of its own; `words` are properties of the run."""
        with contextlib.closing(sqlite3.connect(path)) as kept:
            self._database.backup(kept)
            kept.executemany(_SET, [(name, json.dumps(value)) for name, value in words.items()])
            prune(kept)
            kept.execute("PRAGMA journal_mode=DELETE")

    def changes(self) -> int:
        """How many rows were inserted or changed so far."""
        return self._database.total_changes - self._first

    def has_committed(self, before: int) -> bool:
        """Whether what was written since there were `before` changes is in the file for good."""
        return self.changes() > before and not self._database.in_transaction

    def undo(self) -> None:
        """Take back what was written since the last commit."""
        with contextlib.suppress(sqlite3.Error):
            self._database.rollback()

    def bytes(self) -> int:
        """How much of the file is in use."""
        (pages,) = self._database.execute("PRAGMA page_count").fetchone()
        (free,) = self._database.execute("PRAGMA freelist_count").fetchone()
        return (int(pages) - int(free)) * _PAGE

    def room(self) -> int:
        """Bytes that the file may still grow by; only where its size is limited."""
        return (self._limit or 0) - _LAST_WORDS - self.bytes()

    def close(self, pruned: bool, last_words: dict[str, object]) -> None:
        """Leave one plain file behind. `last_words` are properties of the run that may fail to be written."""
        self._allow(0)
        with contextlib.suppress(sqlite3.Error):
            self._insert("run", [(name, json.dumps(value)) for name, value in last_words.items()])
            self._database.commit()
        if pruned:
            with contextlib.suppress(sqlite3.Error):
                prune(self._database)
        with contextlib.suppress(sqlite3.Error):
            self._database.execute("PRAGMA journal_mode=DELETE")
        with contextlib.suppress(sqlite3.Error):
            self._database.close()

    def _allow(self, reserve: int) -> None:
        """Let SQLite itself enforce the limit, less a reserve."""
        if self._limit is not None:
            with contextlib.suppress(sqlite3.Error):
                self._database.execute(f"PRAGMA max_page_count={(self._limit - reserve) // _PAGE}")

    def abandon(self) -> None:
        """In a forked child: never close it, even at the interpreter's end, which would delete the parent's log."""
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._database))


def check(path: Path, overwrite: bool, has_folder: bool = True) -> None:
    """Refuse a path that no recording should be written to; `has_folder`: whether its folder has to be there.

    Raises UsageError.
    """
    if path.exists() and not path.is_file():
        raise UsageError(f"{path} is not a regular file", "a recording is a file: name one with -o")
    if path.exists() and not overwrite:
        raise UsageError(f"{path} exists already", "use --force to replace it, or name another file with -o")
    if has_folder and not path.parent.is_dir():
        raise UsageError(f"there is no directory {path.parent}", "make it, or name another file with -o")


def try_to_write(path: Path) -> None:
    """Ask whether a file can be made where this one will be, and leave nothing there. Raises UsageError."""
    try:
        tempfile.TemporaryFile(dir=path.parent).close()
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}", _WRITABLE) from None


def _identity(path: Path) -> tuple[int, int] | None:
    """Which file a path leads to: SQLite would go on writing into one that was deleted, and never notice."""
    try:
        found = os.stat(path)
    except OSError as error:  # a TimeoutError of the script's is one, too
        let_through(error)
        return None
    return found.st_dev, found.st_ino


def _create(path: Path, shown: Path) -> sqlite3.Connection:
    try:
        _remove(path)
        return _begun(path)
    except (sqlite3.Error, OSError) as error:
        let_through(error)
        with contextlib.suppress(OSError):  # what is no recording would keep a full disk full
            _remove(path)
        raise UsageError(f"cannot write {shown}: {error}", _WRITABLE) from None


def _remove(path: Path) -> None:
    for ending in _ENDINGS:
        Path(f"{path}{ending}").unlink(missing_ok=True)


def _begun(path: Path) -> sqlite3.Connection:
    database = sqlite3.connect(path, check_same_thread=False, isolation_level="DEFERRED")
    try:
        for pragma in (f"page_size={_PAGE}", "locking_mode=EXCLUSIVE", "journal_mode=WAL", "synchronous=OFF"):
            database.execute(f"PRAGMA {pragma}")
        database.execute(f"PRAGMA application_id={APPLICATION_ID}")
        database.execute(f"PRAGMA user_version={SCHEMA}")
        database.executescript(TABLES)
        database.commit()
    except BaseException:
        database.close()
        raise
    return database
