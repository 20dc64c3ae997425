"""A program on a terminal of its own, and the keys that its user presses."""

from __future__ import annotations

import os
import select
import sys
from pathlib import Path

import pytest

from tests.capture.side_by_side import environment
from tests.processes import SECONDS, end, started

pty = pytest.importorskip("pty", reason="Windows has no pseudo-terminals")
CTRL_C, CTRL_D = "\x03", "\x04"
_MOMENT = 2.0  # seconds without an answer, after which a key is pressed again
_OWN = "import fcntl, os, sys, termios; fcntl.ioctl({0}, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"


class Terminal:
    """Python, with arguments, on a terminal. It ends with the `with` block, whatever happens in there."""

    def __init__(self, folder: Path, *arguments: str, stdout: int | None = None, **variables: str) -> None:
        """`stdout`, if given, goes elsewhere than to the terminal."""
        self._master, other = pty.openpty()
        command = [sys.executable, "-c", _OWN.format(2), sys.executable, *arguments]
        streams = {"stdin": other, "stdout": other if stdout is None else stdout, "stderr": other}
        try:
            self._process = started(command, cwd=folder, env=environment(**variables), **streams)
        finally:
            os.close(other)

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *error: object) -> None:
        end(self._process)
        os.close(self._master)

    def wait_for(self, text: str) -> str:
        """What is printed up to a text."""
        printed = ""
        while text not in printed:
            if not self._answers(SECONDS):
                pytest.fail(f"nothing came in {SECONDS} s after {printed!r}")
            printed += self._read() or pytest.fail(f"{text!r} never came after {printed!r}")
        return printed

    def type(self, keys: str) -> None:
        """Type keys, once."""
        os.write(self._master, keys.encode())

    def press(self, key: str, answer: str) -> str:
        """Press a key until something comes, and wait for the answer.

        A Ctrl-C that comes when readline has shown its prompt, and does not wait for keys yet, is answered with the
        next key only.
        """
        self.type(key)
        while not self._answers(_MOMENT):
            self.type(key)
        return self.wait_for(answer)

    def end(self, key: str = "") -> tuple[str, int]:
        """The rest of what is printed, and the status. A key that ends the program is pressed until it does."""
        printed = ""
        self.type(key)
        while True:
            if not self._answers(_MOMENT if key else SECONDS):
                self.type(key or pytest.fail(f"has not ended in {SECONDS} s after {printed!r}"))
            elif more := self._read():
                printed += more
            else:
                return printed, self._process.wait(SECONDS)

    def _answers(self, seconds: float) -> bool:
        """Whether something can be read, the program's end among it."""
        return bool(select.select([self._master], [], [], seconds)[0])

    def _read(self) -> str:
        try:
            return os.read(self._master, 4096).decode(errors="replace").replace("\r", "")
        except OSError:  # nobody holds the other end any more
            return ""
