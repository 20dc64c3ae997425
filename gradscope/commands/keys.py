"""Keys that are pressed on a terminal, one by one; the terminal is as before afterwards."""

from __future__ import annotations

import os
import select
import sys
from typing import Any


class Keys:
    """`text` is what is being typed after `/`, None while nothing is; `taken` is what it was when Enter came."""

    def __init__(self) -> None:
        self.text: str | None = None
        self.taken = ""
        self._before: list[Any] | None = None

    def __enter__(self) -> Keys:
        try:
            import termios
            import tty
        except ImportError:  # Windows: Ctrl-C quits
            return self
        self._before = termios.tcgetattr(sys.stdin)
        tty.setcbreak(sys.stdin)
        return self

    def __exit__(self, *error: object) -> None:
        if self._before is not None:
            import termios

            termios.tcsetattr(sys.stdin, termios.TCSADRAIN, self._before)

    def next(self, seconds: float) -> str | None:
        """The next key, "enter" when a text is complete, "typing" in between, None when none came in time."""
        if not select.select([sys.stdin], [], [], seconds)[0]:
            return None
        read = os.read(sys.stdin.fileno(), 1).decode(errors="replace")
        if not read:
            return "q"  # the terminal has gone
        return self._typed(read) if self.text is not None else self._pressed(read)

    def _pressed(self, key: str) -> str:
        if key == "/":
            self.text = ""
            return "typing"
        return key

    def _typed(self, key: str) -> str:
        text = self.text or ""
        if key in "\r\n":
            self.taken, self.text = text, None
            return "enter"
        if key == "\x1b":  # Escape shows all modules again
            self.taken, self.text = "", None
            return "enter"
        self.text = text[:-1] if key in "\x7f\b" else text + key
        return "typing"
