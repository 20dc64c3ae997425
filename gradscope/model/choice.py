"""Which findings a user wants to hear of: by `--select` and `--ignore`, and by a comment on the line."""

from __future__ import annotations

import re
from dataclasses import dataclass

IGNORE = re.compile(r"#\s*gradscope:\s*ignore\[([A-Z0-9,\s]+)\]")


@dataclass(frozen=True, slots=True)
class Choice:
    """Codes or beginnings of codes; nothing selected means all. `reasons` are codes that the configuration silences."""

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    reasons: tuple[tuple[str, str], ...] = ()

    def wants(self, code: str) -> bool:
        """Whether findings with this code are reported."""
        selected = not self.select or code.startswith(self.select)
        return selected and not (self.ignore and code.startswith(self.ignore))


def codes(text: str) -> tuple[str, ...]:
    """Codes as an option has them, separated by commas."""
    return tuple(code.strip().upper() for code in text.split(",") if code.strip())


def silences(line: str, code: str) -> bool:
    """Whether a line of source has a comment that ignores the code."""
    comment = IGNORE.search(line)
    return comment is not None and code in {one.strip() for one in comment[1].split(",")}
