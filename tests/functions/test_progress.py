"""The progress bar: on a terminal alone, in one line, gone at the end."""

import subprocess
from pathlib import Path

from tests.capture.side_by_side import python
from tests.terminal import Terminal

ROOT = Path(__file__).parents[2]
COMMAND = ("-m", "gradscope", "check-function", "tests/functions/cases/choices.py:Combined")


def on_terminal(*options):
    """What the command writes on standard error when that is a terminal."""
    with Terminal(ROOT, *COMMAND, *options, stdout=subprocess.DEVNULL, TERM="xterm", COLUMNS="60") as terminal:
        return terminal.end()[0]


def test_a_terminal_shows_what_runs_and_is_left_clean():
    text = on_terminal()
    assert "Combined: " in text
    assert text.rstrip().endswith("\x1b[2K")


def test_quiet_shows_nothing():
    assert on_terminal("-q") == ""


def test_a_file_gets_no_bar():
    assert python(ROOT, *COMMAND).stderr == ""
