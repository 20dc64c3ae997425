"""What takes long says so on a terminal, and nowhere else."""

from __future__ import annotations

import io

import pytest

from gradscope.commands import progress
from gradscope.commands.progress import waiting


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def terminal_for(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Not a fixture: pytest puts its own standard error in place after those."""
    found = Terminal()
    monkeypatch.setattr("sys.stderr", found)
    monkeypatch.setenv("TERM", "xterm")
    return found


class Immediately:
    """A timer whose time has come."""

    daemon = False

    def __init__(self, after: float, call: object) -> None:
        assert after == progress.AFTER
        self.start = call

    def cancel(self) -> None:
        pass

    join = cancel


class Never(Immediately):
    """A timer whose time does not come."""

    def __init__(self, after: float, call: object) -> None:
        super().__init__(after, self.cancel)


def test_a_terminal_shows_what_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = terminal_for(monkeypatch)
    monkeypatch.setattr(progress.threading, "Timer", Immediately)
    with waiting(quiet=False) as doing:
        doing("drawing 10,000 nodes \x1b[31m")
    assert "gradscope: drawing 10,000 nodes \\x1b[31m" in terminal.getvalue()


def test_what_is_quick_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = terminal_for(monkeypatch)
    monkeypatch.setattr(progress.threading, "Timer", Never)
    with waiting(quiet=False) as doing:
        doing("drawing")
    assert "drawing" not in terminal.getvalue()


def test_quiet_and_pipes_show_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = terminal_for(monkeypatch)
    monkeypatch.setattr(progress.threading, "Timer", Immediately)
    with waiting(quiet=True) as doing:
        doing("drawing")
    assert terminal.getvalue() == ""
    monkeypatch.setattr(terminal, "isatty", lambda: False)
    with waiting(quiet=False) as doing:
        doing("drawing")
    assert terminal.getvalue() == ""
