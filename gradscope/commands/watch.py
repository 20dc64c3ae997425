"""`gradscope watch`: a live view of recordings that are being written, from a second process that only reads."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path

import click

from gradscope.anomaly import explain
from gradscope.channel.client import Connection
from gradscope.commands import options
from gradscope.commands.keys import Keys
from gradscope.errors import GradscopeError, UnreadableError, UsageError
from gradscope.measures.glance import glance
from gradscope.model.finding import Finding
from gradscope.model.glance import Glance
from gradscope.model.printable import printable
from gradscope.render.watch import finding_line, line, view
from gradscope.store.file import NAME_ONE
from gradscope.store.reader import SUFFIX, load, newest
from gradscope.store.running import is_running

_SHARE = 0.1  # of a core, at most: reading waits ten times as long as it took
_SURE = 3  # steps before anything is said of a training: what comes later in a step is not there yet in the first
_HELP = "p pause   / module filter   q quit (the run goes on)"


class Watched:
    """The recordings of one argument, and what is known of them."""

    def __init__(self, asked: str | None) -> None:
        self._asked = asked
        self._seen: dict[Path, tuple[object, Glance, tuple[Finding, ...]]] = {}
        self._before: dict[Path, set[tuple[str, str]]] = {}

    def look(self) -> tuple[list[Glance], list[Finding]]:
        """What there is to see now; only files that have grown are read again."""
        paths, armed = self._there()
        for path in paths:
            sign = _sign(path)
            if path not in self._seen or self._seen[path][0] != sign:
                self._seen[path] = (sign, *self._read(path))
        shown = sorted((self._seen[path][1] for path in paths), key=lambda one: (one.rank or 0, one.name))
        return [*armed, *shown], _once([finding for path in paths for finding in self._seen[path][2]])

    def _there(self) -> tuple[list[Path], list[Glance]]:
        """What there is to read. Raises UsageError when all that was read before has been removed."""
        found, armed = _sources(self._asked)
        paths = [path for path in found if path not in self._seen or path.exists()]
        if found and not paths:
            raise UsageError(f"{printable(found[0].name)} has been removed")
        for known in (self._seen, self._before):
            for path in known.keys() - set(paths):  # of a run that begins new files for days
                del known[path]
        return paths, armed

    def _read(self, path: Path) -> tuple[Glance, tuple[Finding, ...]]:
        try:
            with load(path) as recording:
                run = recording.run()
                is_there = not run.ended and recording.recovered and is_running(run.pid, run.started, run.process)
                seen = glance(recording, is_there)
                return seen, self._sure(path, seen, explain(recording).findings)
        except UnreadableError as error:  # it has hardly begun, or was cut short
            return Glance(path.name, "unreadable", trouble=error.sentence), ()

    def _sure(self, path: Path, seen: Glance, found: tuple[Finding, ...]) -> tuple[Finding, ...]:
        """Findings that stay: while a step runs, what it has not done yet looks as if it were missing."""
        if seen.state != "being written":
            return found
        known = {(one.code, str(one.site)) for one in found}
        before, self._before[path] = self._before.get(path, set()), known
        if seen.steps < _SURE:
            return ()
        return tuple(one for one in found if (one.code, str(one.site)) in before)


@click.command(context_settings=options.HELP)
@click.argument("what", required=False, metavar="[REC|FOLDER|PID]")
@click.option("--once", is_flag=True, help="Say what there is now, and leave.")
@click.option(
    "--every",
    type=click.FloatRange(min=0.2),
    metavar="SECONDS",
    help="How often to look. [default: each second, without a terminal every two]",
)
@click.option("--module", "only", default="", metavar="PART", help="Show only modules whose path has this in it.")
def command(what: str | None, once: bool, every: float | None, only: str) -> int:
    """Watch a recording while it is being written; those of a folder, or of all ranks, side by side.

    Without an argument it is the newest recording in the working directory (or $GRADSCOPE_DIR). A PID is a program that
    is recorded or armed. It reads what the run has committed and never touches the run: quitting leaves it alone.
    Without a terminal a line is printed when something is new, until what it watches has ended.
    """
    if what is not None and not _is_there(what):
        raise UnreadableError(f"{printable(what)} does not exist", NAME_ONE)
    watched = Watched(what)
    if once:
        watched.look()  # twice: what is found in the middle of a step counts only when it stays
        glances, findings = watched.look()
        _print(glances, findings)
        return 0
    if sys.stdout.isatty() and sys.stdin.isatty():
        _live(watched, every or 1.0, only)
    else:
        _lines(watched, every or 2.0)
    return 0


def _print(glances: Sequence[Glance], findings: Sequence[Finding]) -> None:
    for one in glances:
        click.echo(line(one))
    for finding in findings:
        click.echo(finding_line(finding))


def _lines(watched: Watched, every: float) -> None:
    """A line each, when something is new, and each finding once."""
    told: set[str] = set()
    said: list[str] = []
    while True:
        started = time.monotonic()
        try:
            glances, findings = watched.look()
        except GradscopeError:
            if said:  # the process has gone, or the file
                return
            raise
        lines = [line(one) for one in glances]
        for text in [one for one in lines if one not in said]:
            click.echo(text)
        said = lines
        for text in [text for text in map(finding_line, findings) if text not in told]:
            told.add(text)
            click.echo(text)
        sys.stdout.flush()
        if _is_over(glances):
            return
        time.sleep(max(every, (time.monotonic() - started) / _SHARE))


def _live(watched: Watched, every: float, only: str) -> None:
    from rich.console import Console
    from rich.live import Live

    console, paused = Console(), False
    with Keys() as keys, Live(console=console, screen=True, auto_refresh=False) as live:
        glances, findings = watched.look()
        took = 0.0
        while True:
            below = f"module filter: {keys.text}_" if keys.text is not None else _HELP
            below = f"PAUSED  {below}" if paused else below
            filtered = keys.text if keys.text is not None else only
            width, height = console.size
            live.update(view(glances, findings, width, height, filtered, below), refresh=True)
            key = keys.next(max(every, took / _SHARE))
            if key == "q":
                break
            if key == "p":
                paused = not paused
            elif key == "enter":
                only = keys.taken
            elif key is None and not paused:
                started = time.monotonic()
                try:
                    glances, findings = watched.look()
                except GradscopeError:  # the process has gone, or the file: what was seen last stays
                    break
                took = time.monotonic() - started
    _print(glances, findings)


def _is_over(glances: Sequence[Glance]) -> bool:
    return bool(glances) and all(one.state not in ("being written", "unreadable", "armed") for one in glances)


def _sources(asked: str | None) -> tuple[list[Path], list[Glance]]:
    """The recordings that are meant now, and a program that is armed: more may come while it runs."""
    if asked is None:
        return [newest()], []
    path = Path(asked)
    if path.is_dir():
        found = [one for one in path.glob(f"*{SUFFIX}") if one.is_file()]
        if not found:
            raise UnreadableError(f"there is no {SUFFIX} file in {printable(asked)}", "name another folder")
        return found, []
    if not path.exists() and _is_number(asked):
        return _of_process(int(asked))
    return [path], []


def _is_there(asked: str) -> bool:
    """Whether something has the name, or it may be a process: one that goes later is said to have been removed."""
    return Path(asked).exists() or _is_number(asked)


def _is_number(asked: str) -> bool:
    return asked.isascii() and asked.isdigit()


def _of_process(pid: int) -> tuple[list[Path], list[Glance]]:
    """What a process writes now; for one that is armed and writes nothing, how far it is."""
    try:
        with Connection(pid) as connection:
            state = connection.state()
    except GradscopeError as error:
        here = [one for one in Path().glob(f"*.{pid}*{SUFFIX}") if one.is_file()]
        if not here:
            raise UsageError(error.sentence, error.hint or "name its recording") from None
        return [max(here, key=_changed)], []
    if state.recording is not None:
        return [Path(state.recording)], []
    return [], [Glance(f"{state.name} ({pid})", "armed", state.rank, state.step)]


def _changed(path: Path) -> int:
    """When a file was written last; 0 for one that has gone meanwhile."""
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def _sign(path: Path) -> object:
    """What changes when a recording grows."""
    found = []
    for one in (path, path.with_name(path.name + "-wal")):
        try:
            told = one.stat()
        except OSError:
            continue
        found.append((told.st_size, told.st_mtime_ns))
    return tuple(found)


def _once(findings: Sequence[Finding]) -> list[Finding]:
    """Ranks find the same: once is enough."""
    return list({(one.code, str(one.site)): one for one in reversed(findings)}.values())[::-1]
