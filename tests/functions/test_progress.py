"""The progress bar: on a terminal alone, in one line, gone at the end."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pty = pytest.importorskip("pty", reason="Windows has no pseudo-terminals")
COMMAND = [sys.executable, "-m", "gradscope", "check-function", "tests/functions/cases/choices.py:Combined"]
ENVIRONMENT = os.environ | {"TERM": "xterm", "COLUMNS": "60", "PYTHONPATH": ":".join(sys.path)}


def on_terminal(*options):
    """What the command writes on standard error when that is a terminal."""
    ours, theirs = pty.openpty()
    root = Path(__file__).parents[2]
    with subprocess.Popen(
        [*COMMAND, *options], cwd=root, stdout=subprocess.PIPE, stderr=theirs, env=ENVIRONMENT
    ) as process:
        os.close(theirs)
        text = b""
        try:
            while chunk := os.read(ours, 4096):
                text += chunk
        except OSError:
            pass  # Linux says that the other end was closed
        os.close(ours)
        process.stdout.read()
    return text.decode()


def test_a_terminal_shows_what_runs_and_is_left_clean():
    text = on_terminal()
    assert "Combined: " in text
    assert text.rstrip().endswith("\x1b[2K")


def test_quiet_shows_nothing():
    assert on_terminal("-q") == ""


def test_a_file_gets_no_bar():
    root = Path(__file__).parents[2]
    assert subprocess.run(COMMAND, cwd=root, capture_output=True, env=ENVIRONMENT, check=False).stderr == b""
