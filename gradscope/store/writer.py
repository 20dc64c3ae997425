"""Writes a recording. Rows wait in lists and go to the file in batches; what repeats is interned in memory.

Two locks: one guards the rows and is held for an instant, the other the file. So no thread of the program waits for
the heartbeat's commit, unless it commits itself.
"""

from __future__ import annotations

import json
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from gradscope.signals import is_the_programs
from gradscope.store.interning import Interning
from gradscope.store.origin import USER, origin_of, users_modules
from gradscope.store.output import Content, Output, Row, check
from gradscope.store.retention import Gone
from gradscope.store.room import Room, Tell
from gradscope.store.source_text import text_of

Tail = tuple[int, int, int, Content, Row]  # an open block, as Output.show takes it
_AT_ONCE = 16  # times that what is to be written soon is written at once: a program that crashes often does so early
_SOON = 0.25  # seconds: the heartbeat is there before a second is over
_PATIENCE = 2.0  # seconds that a fork waits for a commit that goes on
_BATCH = 20_000  # rows that may wait before they are written in the middle of a backward
_FORGOTTEN = "steps before the last ones of --keep-last"
_OLDEST = "steps before the last ones that fit into --max-size"
_MODULES = 64  # of the user's, whose text is kept though nothing recorded stands in it
_SOURCES = "sources that do not fit into --max-size"
_NO_EVENTS = {
    "run",
    "string",
    "frame",
    "stack",
    "call",
    "tensor_type",
    "function",
    "source",
}  # they only describe
_FAILURE = {"failure"}  # alone it does not say that this process was more than a launcher


class Writer(Interning):
    """One open recording. Any thread may call it; ids start at 1, and 0 stands for "none"."""

    def __init__(
        self,
        path: Path,
        *,
        overwrite: bool = False,
        late: bool = False,
        keep_empty: bool = True,
        limit: int | None = None,
        awaited: frozenset[str] = frozenset(),
    ) -> None:
        """Create the file, of at most `limit` bytes; `late`: only when there is something to record, and then its
        folder as well. Without `keep_empty` a file in which nothing happened is removed at the end. `awaited`: the
        tables without which a late one has nothing to record.

        Raises UsageError when it cannot be.
        """
        self.path = path.absolute()  # the program may change its directory
        self._process = os.getpid()
        self._lock = threading.RLock()  # re-entrant: a signal handler of the script may run torch code
        super().__init__(self._lock, Room(limit))
        self._writing = threading.RLock()  # taken before the other one
        self._rows: dict[str, list[Row]] = {}
        self._waiting = 0
        self._faults: dict[tuple[str, str], int] = {}
        self._dropped: dict[str, int] = {}
        self._noted = 0  # faults and drops so far, and how many of them the file has
        self._counted = 0
        self._described = 0  # frames whose file was looked at
        self._has_met = False  # whether a collective was seen when files were last looked at
        self.failure: str | None = None
        self._forgotten: int | None = None  # steps before this one are given up
        self._limit = limit
        self._asked = 0  # how often to write soon
        self._written = 0.0  # when rows were last written, as time.monotonic tells it
        self.is_empty, self._keep_empty = True, keep_empty
        self._awaited = awaited
        check(path, overwrite, has_folder=not awaited)
        self._output = None if late else self._created(path)

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
            self._noted += 1

    def drop(self, reason: str, count: int = 1) -> None:
        """Count what is not recorded."""
        with self._lock:
            self._dropped[reason] = self._dropped.get(reason, 0) + count
            self._noted += 1

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

    def commit(self, tails: Callable[[], Iterable[Tail]] | None = None) -> None:
        """Write what waits, safe against a kill. A failing disk stops the recording, never the run.

        `tails` answers with the blocks of operators that threads are still filling.
        """
        if os.getpid() != self._process:
            return  # a forked child must not touch its parent's database
        if self._must_not_wait():
            return  # the next one commits
        with self._writing:
            shown = [] if tails is None else list(tails())
            waiting: dict[str, list[Row]] = {}
            before = 0 if self._output is None else self._output.changes()
            try:
                with self._lock:
                    happened = self._happened(bool(shown))
                    if self._output is None and happened <= _FAILURE and not self._waits_for_long():
                        return  # nothing has happened yet: this process may be a mere launcher
                    self._add_counts()
                    self.is_empty = self.is_empty and not happened
                    waiting, self._rows, self._waiting = self._rows, {}, 0
                if self.failure is None:
                    self._write(waiting, shown)
                    self._written = time.monotonic()
            except BaseException as error:
                if is_the_programs(error):  # raised by a signal handler, anywhere in here
                    self._put_back(waiting, before)
                    raise
                self._fail(error)

    def _happened(self, shown: bool) -> set[str]:
        """The tables that say that something has, among those that wait to be written."""
        happened = self._rows.keys() - _NO_EVENTS if not shown else {"block"}
        return happened & self._awaited if self._awaited else happened

    def _waits_for_long(self) -> bool:
        """Whether more waits than memory should hold, in a process that has not done yet what is awaited of it."""
        return bool(self._awaited) and self._waiting > _BATCH

    def commit_soon(self) -> None:
        """Write what waits, unless that was done a moment ago: then the heartbeat, or the next call, does it.

        The first times at once; and always where the file's size is limited, because what is in it counts.
        """
        self._asked += 1
        if self._asked <= _AT_ONCE or self._limit is not None or time.monotonic() - self._written > _SOON:
            self.commit()

    def beat(self, values: dict[str, object], tails: Callable[[], Iterable[Tail]]) -> None:
        """Commit from the heartbeat's thread: all that there is, and how far the run has come."""
        if self._writing.acquire(blocking=False):  # who holds it commits, or is a thread that will fork
            try:
                if self._output is not None:
                    self.set_run(values)
                    self._add_sources()
                self.commit(tails)
            finally:
                self._writing.release()

    def full(self) -> bool:
        """Whether what comes next might not fit."""
        if self._limit is None or self._output is None or self.failure is not None or self._must_not_wait():
            return False
        with self._writing:
            return self._room.is_full(self._output)

    def tidy(self, tell: Tell) -> None:
        """Between two steps: have the oldest go where the next might not fit, and what only those needed that went.

        `tell` is told of content before it goes.
        """
        if self._output is None or self.failure is not None or self._must_not_wait() or os.getpid() != self._process:
            return
        with self._writing:
            try:
                self._tidy(self._output, tell)
            except BaseException as error:
                if is_the_programs(error):
                    self._output.undo()
                    raise
                self._fail(error)

    def _tidy(self, output: Output, tell: Tell) -> None:
        def going(gone: Gone) -> None:
            self._unlearn(gone)
            tell(gone)

        self._room.tidy(output, going)
        if self._room.is_short(output):
            self.commit()
            if went := self._room.make(output, going):
                self.drop(_OLDEST, went)

    def _must_not_wait(self) -> bool:
        """Whether this thread holds the lock that a writer may wait for, because a signal handler runs in it."""
        owned: bool = self._lock._is_owned()  # type: ignore[attr-defined]
        return owned

    def _write(self, waiting: dict[str, list[Row]], shown: list[Tail]) -> None:
        output = self._open()
        closed = {(row[2], row[4]) for row in waiting.get("block_run", ())}  # thread, started
        output.write(waiting, {thread for thread, _ in closed})
        for tail in shown:
            if (tail[0], tail[-1][2]) not in closed:  # else it is among the rows by now
                output.show(*tail)
        if self._forgotten is not None:
            forgotten = output.forget_before(self._forgotten)
            if forgotten:
                self._room.gave_up(forgotten)
                self.drop(_FORGOTTEN, forgotten)
        output.commit()

    def _open(self) -> Output:
        if self._output is None:
            if self.path.exists():  # another process was faster
                self.path = self.path.with_name(f"{self.path.stem}.{os.getpid()}{self.path.suffix}")
            self._output = self._created(self.path)
        return self._output

    def _created(self, shown: Path) -> Output:
        if self._awaited:
            self.path.parent.mkdir(exist_ok=True)
        output = Output(self.path, shown, self._limit)
        self._room.begin(output)
        return output

    def _fail(self, error: BaseException) -> None:
        self.failure = str(error) or type(error).__name__
        if self._output is not None:
            self._output.undo()

    def _put_back(self, waiting: dict[str, list[Row]], before: int) -> None:
        """Have rows wait again that a commit has taken, unless they are in the file: it had `before` changes."""
        if waiting is self._rows or (self._output is not None and self._output.has_committed(before)):
            return
        if self._output is not None:
            self._output.undo()
        with self._lock:
            for table, rows in self._rows.items():
                waiting.setdefault(table, []).extend(rows)
            self._rows = waiting

    def close(self, values: dict[str, object]) -> None:
        """Set the run's last properties and leave one plain file behind."""
        if os.getpid() != self._process:
            return
        with self._writing:
            self.set_run(values)
            self._add_sources(modules=True)
            self.commit()
            self.commit()  # what the first one dropped: old steps
            if self._output is None:
                return
            last_words = {} if self.failure is None else {**values, "stopped": self.failure}
            self._output.close(self._forgotten is not None, last_words)
            if self.is_empty and not (self._keep_empty or self._faults or self.failure):
                self.path.unlink(missing_ok=True)

    def keep(self, path: Path, values: dict[str, object]) -> bool:
        """Leave a copy of what was recorded so far in a file of its own, with the properties of a run that has ended.

        False when there is nothing, or when a signal handler asks in the middle of a commit.
        """
        owned: bool = self._writing._is_owned()  # type: ignore[attr-defined]
        if owned or self._must_not_wait():
            return False
        with self._writing:
            self._add_sources(modules=True)
            self.commit()
            if self._output is None or self.failure is not None:
                return False
            self._output.keep(path, values)
        return True

    def connection(self) -> sqlite3.Connection:
        """The open database with everything that was added so far, for reading while the run goes on."""
        self.commit()
        return self._open().connection

    def size(self) -> int:
        """Bytes of the file; 0 when there is none."""
        return self.path.stat().st_size if self.path.exists() else 0

    def hold(self) -> None:
        """The process forks: let no thread be inside of SQLite, whose locks a child would find taken for good."""
        self._writing.acquire(timeout=_PATIENCE)

    def let_go(self) -> None:
        """In the parent, after a fork."""
        if self._writing._is_owned():  # type: ignore[attr-defined]
            self._writing.release()

    def abandon(self) -> None:
        """In a forked child: forget the parent's database without touching the file."""
        self.failure = "belongs to the parent process"
        if self._output is not None:
            self._output.abandon()
        self._lock, self._writing = threading.RLock(), threading.RLock()  # another thread may have held them

    def _add_counts(self) -> None:
        """The faults and what was dropped, when there are more than the file has."""
        if self._counted != self._noted:
            self._counted = self._noted
            self.add_all("fault", ((probe, text, count) for (probe, text), count in self._faults.items()))
            self.add_all("dropped", self._dropped.items())

    def _add_sources(self, modules: bool = False) -> None:
        """Keep the text of the user's own files, so that lines can be shown anywhere; at the end of all modules, too.

        A file of settings runs no operator.
        """
        with self._lock:
            frames = list(self._ids.get("frame", ()))[self._described :]
            self._described += len(frames)
            first_met = "collective" in self._numbers and not self._has_met
            self._has_met = self._has_met or first_met
        files = {key[0] for key in frames if isinstance(key, tuple)}
        ends = modules and self._described > 0 and self._limit is None
        if ends or first_met:  # a callback runs no operator, and decides when a rank leaves a loop
            files.update(users_modules(_MODULES))
        for file in files:
            if origin_of(file) == USER:
                text = text_of(file)
                if text is None:
                    continue
                if not self._room.holds(2 * len(text)):
                    self.drop(_SOURCES)
                    continue
                self.add("source", (self.string(file), text))
