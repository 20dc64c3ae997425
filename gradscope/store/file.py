"""Opens a recording without trusting it: read-only, checked, and never a traceback for a bad file.

A killed run leaves a journal that only a writer may apply, so a private copy is recovered instead; a run that
still goes on is read the same way, up to its last commit.
"""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from gradscope.errors import UnreadableError
from gradscope.model.printable import printable
from gradscope.store.migrations import migrated
from gradscope.store.schema import APPLICATION_ID, SCHEMA, TABLES

MAGIC = b"SQLite format 3\0"
# Ends a journal that names a "super-journal", a file SQLite would delete after the recovery: a way to
# make a reader delete any file. A recording never has one, because it is never written together with another.
SUPER_JOURNAL_MAGIC = bytes.fromhex("d9d505f920a163d7")
TABLE_NAMES = frozenset(re.findall(r"CREATE TABLE (\w+)", TABLES))
NAME_ONE = "name a .gscope file that `gradscope trace` wrote"
ATTEMPTS = 5
LONGEST_REASON = 200  # characters
_PLAIN = frozenset({("table", True), ("index", True)})
_STRANGE = "its tables are not those of a recording"
RECORD_AGAIN = "record again with `gradscope trace SCRIPT`"


@dataclass(frozen=True, slots=True)
class OpenFile:
    """An open recording. `recovered` tells that the run did not close it, so that a private copy is read."""

    path: Path
    connection: sqlite3.Connection
    recovered: bool = False
    copy: Path | None = None

    def hold(self) -> None:
        """Lock it once for all that is read, and not for each read. Whoever writes it would wait: its run has ended."""
        self.connection.execute("BEGIN")

    def close(self) -> None:
        """Close it, and remove the private copy if there is one."""
        self.connection.close()
        if self.copy is not None:
            import shutil  # a dozen modules, which no other recording needs

            shutil.rmtree(self.copy, ignore_errors=True)


@contextmanager
def damage_is_one_sentence(path: Path) -> Iterator[None]:
    """Turn whatever damaged content makes Python or SQLite raise into an UnreadableError."""
    try:
        yield
    except sqlite3.OperationalError as error:
        if "locked" in str(error):
            raise UnreadableError(f"{show(path)} is being written right now", "try again in a moment") from error
        raise _damaged(path, error) from error
    except (sqlite3.Error, ValueError, LookupError, TypeError, OverflowError, RecursionError) as error:
        raise _damaged(path, error) from error


def open_file(path: Path) -> OpenFile:
    """Open and check the recording at `path`."""
    _look_at_header(path)
    with damage_is_one_sentence(path):
        file = _open_or_recover(path)
        try:
            schema = _check(file)
            if schema < SCHEMA:
                file = replace(file, connection=migrated(file.connection, schema))
                _check_tables(_entries(file.connection))
        except BaseException:
            file.close()
            raise
    return file


def show(path: Path) -> str:
    """A path as it may be printed."""
    return printable(str(path))


def _look_at_header(path: Path) -> None:
    """Refuse, before SQLite sees it, what is not a file, is empty or is not SQLite's."""
    if not path.exists():
        raise UnreadableError(f"{show(path)} does not exist", NAME_ONE)
    if not path.is_file():
        raise UnreadableError(f"{show(path)} is not a file", NAME_ONE)
    try:
        with path.open("rb") as stream:
            magic = stream.read(len(MAGIC))
    except OSError as error:
        raise UnreadableError(f"{show(path)} cannot be read: {error.strerror}") from error
    if not magic:
        raise UnreadableError(f"{show(path)} is empty: the run ended before it recorded anything", RECORD_AGAIN)
    if magic != MAGIC:
        raise UnreadableError(f"{show(path)} is not a gradscope recording", NAME_ONE)


def _open_or_recover(path: Path) -> OpenFile:
    """A journal beside the file is either a running writer's, and harmless, or left by a kill: SQLite can tell."""
    journals = [Path(f"{path}{ending}") for ending in ("-journal", "-wal") if _holds_something(f"{path}{ending}")]
    if not any(journal.name.endswith("-wal") for journal in journals):
        connection = _connect(path)
        try:
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
            return OpenFile(path, connection)
        except sqlite3.DatabaseError:
            connection.close()
            if not journals:
                raise
    return _recover(path, journals)


def _recover(path: Path, journals: list[Path]) -> OpenFile:
    """Copy the file and its journals to a private place and let SQLite roll the copy back."""
    import shutil
    import tempfile

    for journal in journals:
        if _ends_with(journal, SUPER_JOURNAL_MAGIC):
            raise ValueError(f"its journal {printable(journal.name)} was not left by gradscope")
    folder = Path(tempfile.mkdtemp(prefix="gradscope-"))
    try:
        copy = folder / "recording"
        for _ in range(ATTEMPTS):
            before = path.stat()
            for source in (path, *journals):
                _copy(source, folder / (copy.name + source.name[len(path.name) :]), source is not path)
            # A running writer may have moved its journal into the file between the two copies.
            if (before.st_mtime_ns, before.st_size) == (path.stat().st_mtime_ns, path.stat().st_size):
                break
        with closing(sqlite3.connect(copy)) as writer:
            writer.execute("SELECT count(*) FROM sqlite_master").fetchone()
        return OpenFile(path, _connect(copy), recovered=True, copy=folder)
    except OSError as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise UnreadableError(f"{show(path)} was not closed by its run and cannot be copied: {error}") from error
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _copy(source: Path, target: Path, is_journal: bool) -> None:
    """Copy a file; a journal that its writer has removed meanwhile is in the file by now."""
    import shutil

    try:
        shutil.copyfile(source, target)
    except FileNotFoundError:
        if not is_journal:
            raise
        target.unlink(missing_ok=True)


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, isolation_level=None)
    connection.execute("PRAGMA trusted_schema=OFF")
    connection.execute("PRAGMA query_only=ON")
    return connection


def _check(file: OpenFile) -> int:
    """Refuse other programs' databases, newer schemas, and anything that is not a plain table. Returns the schema."""
    (application,) = file.connection.execute("PRAGMA application_id").fetchone()
    (schema,) = file.connection.execute("PRAGMA user_version").fetchone()
    entries = _entries(file.connection)
    name = show(file.path)
    if not entries:
        raise UnreadableError(f"{name} is empty: the run ended before it recorded anything", RECORD_AGAIN)
    if application != APPLICATION_ID:
        raise UnreadableError(f"{name} is an SQLite file of another program, not a gradscope recording")
    if schema > SCHEMA:
        raise UnreadableError(
            f"{name} was written by a newer gradscope (schema {schema}; this version reads up to {SCHEMA})",
            "upgrade gradscope, or record again with this version",
        )
    # SQLite notices missing pages, but not the missing end of the last one.
    (pages,) = file.connection.execute("PRAGMA page_count").fetchone()
    (page_size,) = file.connection.execute("PRAGMA page_size").fetchone()
    if file.path.stat().st_size < pages * page_size and not file.recovered:
        raise ValueError("its end is missing")
    # A view or a virtual table in a table's place could run without end, and a trigger whatever it likes.
    if schema < 1 or not {(kind, bool(page)) for kind, _, page in entries} <= _PLAIN:
        raise ValueError(_STRANGE)
    if schema == SCHEMA:
        _check_tables(entries)
    return int(schema)


def _entries(connection: sqlite3.Connection) -> list[tuple[str, str, int]]:
    """Kind, name and first page of each table and index."""
    return connection.execute("SELECT type, name, rootpage FROM sqlite_master").fetchall()


def _check_tables(entries: list[tuple[str, str, int]]) -> None:
    """Refuse a file that lacks one of the tables."""
    if not {name for kind, name, _ in entries if kind == "table"} >= TABLE_NAMES:
        raise ValueError(_STRANGE)


def _damaged(path: Path, error: Exception) -> UnreadableError:
    words = printable(str(error)) or type(error).__name__  # SQLite's may hold whatever stands where a name should
    short = words if len(words) <= LONGEST_REASON else words[:LONGEST_REASON] + "..."
    return UnreadableError(f"{show(path)} is damaged: {short}", RECORD_AGAIN)


def _holds_something(path: str) -> bool:
    try:
        return os.stat(path).st_size > 0
    except OSError:
        return False


def _ends_with(path: Path, ending: bytes) -> bool:
    """Whether a file ends like that; one that its writer has removed meanwhile does not."""
    try:
        with path.open("rb") as stream:
            stream.seek(0, 2)
            stream.seek(max(0, stream.tell() - len(ending)))
            return stream.read() == ending
    except FileNotFoundError:
        return False
