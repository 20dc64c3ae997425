"""How each role looks in a terminal."""

from __future__ import annotations

from functools import lru_cache

from gradscope.view.role import Role

STYLES = {
    Role.ROOT: "bold green",
    Role.VIEW: "dim",
    Role.CUSTOM: "bold magenta",
    Role.ACCUMULATE: "cyan",
    Role.SAVED: "yellow",
    Role.HOOKED: "bold red",
    Role.IDLE: "dim strike",
    Role.FOLDED: "dim italic",
    Role.MODULE: "bold",
    Role.CLASS: "magenta",
    Role.PLACE: "dim",
    Role.TYPE: "default",
    Role.SITE: "blue",
    Role.NOTE: "green",
    Role.FINDING: "bold red",
    Role.ADDITION: "green",
}

ATTRIBUTES = {"bold": 1, "dim": 2, "italic": 3, "strike": 9}
COLORS = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
CODES = {**ATTRIBUTES, **{name: number for number, name in enumerate(COLORS, 30)}, "default": 39}


def styled(text: str, style: str) -> str:
    """The text as a terminal shows it in a style."""
    return f"{_begin(style)}{text}\x1b[0m" if style and text else text


@lru_cache(maxsize=64)
def _begin(style: str) -> str:
    return f"\x1b[{';'.join(str(CODES[word]) for word in style.split())}m"
