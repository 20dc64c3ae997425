"""Writes a recording. Rows wait in lists and go to the file in batches; what repeats is interned in memory.

The surprise: the database runs in WAL mode with an exclusive lock and no fsync. A killed process loses nothing that
was committed, a commit costs tens of microseconds, and network disks need no shared memory.
"""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import json
import os
import sqlite3
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path

from gradscope.errors import UsageError
from gradscope.signals import is_the_programs, let_through
from gradscope.store.origin import USER, origin_of
from gradscope.store.retention import forget_before, prune
from gradscope.store.schema import APPLICATION_ID, SCHEMA, TABLES

Row = tuple[object, ...]
_BATCH = 20_000  # rows that may wait before they are written in the middle of a backward
_FORGOTTEN = "steps before the last ones of --keep-last"
_NO_EVENTS = {
    "run",
    "string",
    "frame",
    "stack",
    "call",
    "tensor_type",
    "function",
    "source",
    "failure",
}  # they only describe


class Writer:
    """One open recording. Any thread may call it; ids start at 1, and 0 stands for "none"."""

    def __init__(self, path: Path, *, overwrite: bool = False, late: bool = False) -> None:
        """Create the file; `late`: only when there is something to record. Raises UsageError when it cannot be."""
        self.path = path.absolute()  # the program may change its directory
        self._process = os.getpid()
        self._lock = threading.RLock()  # re-entrant: a signal handler of the script may run torch code
        self._ids: dict[str, dict[object, int]] = {}
        self._numbers: dict[str, itertools.count[int]] = {}  # of interned rows
        self._rows: dict[str, list[Row]] = {}
        self._waiting = 0
        self._faults: dict[tuple[str, str], int] = {}
        self._dropped: dict[str, int] = {}
        self.failure: str | None = None
        self._forgotten: int | None = None  # steps before this one are given up
        _check(path, overwrite)
        self._database = None if late else _create(self.path, path)

    # interning

    def string(self, text: str) -> int:
        """Intern a text."""
        known = self._ids.get("string", {}).get(text)
        return known or self._intern("string", text, (text.encode("utf-8", "replace").decode(),))

    def frame(self, file: str, line: int, function: str) -> int:
        """Intern a line of code, and say whose it is."""
        return self._intern(
            "frame", (file, line, function), (self.string(file), line, self.string(function), origin_of(file))
        )

    def stack(self, caller: int, frame: int) -> int:
        """Intern a stack: its innermost frame over its caller's stack."""
        return self._intern("stack", (caller, frame), (caller, frame))

    def call(self, caller: int, path: str, module_class: str, position: int, ordinal: int, ordinals: int) -> int:
        """Intern a module call."""
        row = (caller, self.string(path), self.string(module_class), position, ordinal, ordinals)
        return self._intern("call", row, row)

    def tensor_type(self, shape: Sequence[int], dtype: str, device: str) -> int:
        """Intern a tensor's shape, dtype and device."""
        row = (json.dumps(list(shape)), self.string(dtype), self.string(device))
        return self._intern("tensor_type", row, row)

    def function(self, name: str, class_frame: int, backward_frame: int) -> int:
        """Intern a custom autograd.Function."""
        row = (self.string(name), class_frame, backward_frame)
        return self._intern("function", row, row)

    def template(self, table: str, key: bytes) -> tuple[int, bool]:
        """The id under which content with this key is stored, and whether it is new: then its rows are to be added."""
        with self._lock:
            known = self._ids.setdefault(table, {})
            found = known.get(key)
            if found is not None:
                return found, False
            known[key] = len(known) + 1
            return len(known), True

    def discard(self, table: str, key: bytes) -> None:
        """Forget a template whose content could not be written: the next one gets another id."""
        with self._lock:
            self._ids[table][object()] = self._ids[table].pop(key, 0)

    def _intern(self, table: str, key: object, row: Row) -> int:
        """An id is known only once its row waits: a signal handler of the program may raise in between."""
        known = self._ids.setdefault(table, {})
        found = known.get(key)
        if found is None:
            with self._lock:
                found = known.get(key)
                if found is None:
                    found = next(self._numbers.setdefault(table, itertools.count(1)))
                    self.add(table, (found, *row))
                    known[key] = found
        return found

    # rows

    def add(self, table: str, row: Row) -> None:
        """Append one row."""
        with self._lock:
            rows = self._rows.get(table)
            if rows is None:
                rows = self._rows[table] = []
            rows.append(row)
            self._waiting += 1
            if self._waiting > _BATCH:
                self.commit()

    def add_all(self, table: str, rows: Iterable[Row]) -> None:
        """Append rows."""
        for row in rows:
            self.add(table, row)

    def set_run(self, values: dict[str, object]) -> None:
        """Set properties of the run."""
        self.add_all("run", ((name, json.dumps(value)) for name, value in values.items()))

    def fault(self, probe: str, message: str) -> None:
        """Note a fault of gradscope's own."""
        with self._lock:
            self._faults[probe, message] = self._faults.get((probe, message), 0) + 1

    def drop(self, reason: str, count: int = 1) -> None:
        """Count what is not recorded."""
        with self._lock:
            self._dropped[reason] = self._dropped.get(reason, 0) + count

    def forget(self, step: int) -> None:
        """Give up what was recorded of the steps before one, with the next commit."""
        self._forgotten = step

    @property
    def dropped(self) -> dict[str, int]:
        """What was not recorded or given up so far, by reason."""
        return dict(self._dropped)

    @property
    def faults(self) -> dict[tuple[str, str], int]:
        """Faults noted so far, by probe and message."""
        return dict(self._faults)

    # the file

    def commit(self) -> None:
        """Write what waits, safe against a kill. A failing disk stops the recording, never the run."""
        if os.getpid() != self._process:
            return  # a forked child must not touch its parent's database
        with self._lock:
            if self._database is None and self._rows.keys() <= _NO_EVENTS:
                return  # nothing has happened yet: this process may be a mere launcher
            waiting, self._rows, self._waiting = self._rows, {}, 0
            if self.failure is not None:
                return
            try:
                database = self._open()
                for table, rows in waiting.items():
                    database.executemany(self._insert(table, len(rows[0])), rows)
                if self._forgotten is not None:
                    self._dropped[_FORGOTTEN] = self._dropped.get(_FORGOTTEN, 0) + forget_before(
                        database, self._forgotten
                    )
                database.commit()
            except BaseException as error:
                if is_the_programs(error) or not isinstance(error, (sqlite3.Error, OSError, UsageError)):
                    self._put_back(waiting)
                    raise
                self.failure = f"{type(error).__name__}: {error}"

    def _put_back(self, waiting: dict[str, list[Row]]) -> None:
        """Rows that may not have been written wait again: a row that is written twice is there once."""
        for table, rows in waiting.items():
            self._rows[table] = rows + self._rows.get(table, [])

    def _open(self) -> sqlite3.Connection:
        if self._database is None:
            if self.path.exists():  # another process was faster
                self.path = self.path.with_name(f"{self.path.stem}.{os.getpid()}{self.path.suffix}")
            self._database = _create(self.path, self.path)
        return self._database

    def close(self, values: dict[str, object]) -> None:
        """Set the run's last properties and leave one plain file behind."""
        if os.getpid() != self._process:
            return
        with self._lock:
            self.set_run(values)
            self.add_all("fault", ((probe, text, count) for (probe, text), count in self._faults.items()))
            self._add_sources()
            self.commit()
            self.add_all("dropped", self._dropped.items())  # after the commit, which may drop old steps
            self.commit()
            if self._database is None:
                return
            if self._forgotten is not None:
                with contextlib.suppress(sqlite3.Error):
                    prune(self._database)
            with contextlib.suppress(sqlite3.Error):
                self._database.execute("PRAGMA journal_mode=DELETE")
            with contextlib.suppress(sqlite3.Error):
                self._database.close()

    def connection(self) -> sqlite3.Connection:
        """The open database with everything that was added so far, for reading while the run goes on."""
        self.commit()
        return self._open()

    def size(self) -> int:
        """Bytes of the file; 0 when there is none."""
        return self.path.stat().st_size if self.path.exists() else 0

    def abandon(self) -> None:
        """In a forked child: forget the parent's database without touching the file."""
        self.failure = "belongs to the parent process"
        if self._database is not None:
            # Closing it would delete the log that the parent writes: it must outlive even the interpreter's end.
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._database))
        self._lock = threading.RLock()  # another thread of the parent may have held it

    def _insert(self, table: str, columns: int) -> str:
        return f"INSERT OR REPLACE INTO {table} VALUES ({','.join('?' * columns)})"

    def _add_sources(self) -> None:
        """Keep the text of the user's own files, so that lines can be shown anywhere."""
        for file in {key[0] for key in self._ids.get("frame", ()) if isinstance(key, tuple)}:
            if origin_of(file) == USER and os.path.isfile(file):
                try:
                    text = Path(file).read_text("utf-8", "replace")
                except OSError as error:
                    let_through(error)
                else:
                    self.add("source", (self.string(file), text))


def _check(path: Path, overwrite: bool) -> None:
    if path.exists() and not path.is_file():
        raise UsageError(f"{path} is not a regular file", "a recording is a file: name one with -o")
    if path.exists() and not overwrite:
        raise UsageError(f"{path} exists already", "use --force to replace it, or name another file with -o")
    if not path.parent.is_dir():
        raise UsageError(f"there is no directory {path.parent}", "make it, or name another file with -o")


def _create(path: Path, shown: Path) -> sqlite3.Connection:
    try:
        for suffix in ("", "-wal", "-shm", "-journal"):
            Path(f"{path}{suffix}").unlink(missing_ok=True)
        database = sqlite3.connect(path, check_same_thread=False, isolation_level="DEFERRED")
        for pragma in ("locking_mode=EXCLUSIVE", "journal_mode=WAL", "synchronous=OFF"):
            database.execute(f"PRAGMA {pragma}")
        database.execute(f"PRAGMA application_id={APPLICATION_ID}")
        database.execute(f"PRAGMA user_version={SCHEMA}")
        database.executescript(TABLES)
        database.commit()
    except (sqlite3.Error, OSError) as error:
        let_through(error)
        raise UsageError(
            f"cannot write {shown}: {error}", "check the directory and its permissions, or name another file with -o"
        ) from None
    return database
