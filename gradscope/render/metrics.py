"""How wide words are, before anything draws them: Helvetica's widths, which Arial and Liberation Sans share."""

from __future__ import annotations

import unicodedata
from functools import lru_cache

FONT = "Helvetica, Arial, 'Liberation Sans', sans-serif"
LONGEST = 56  # characters of a line; the rest is in the box's tooltip

# thousandths of the size, for the printable characters of ASCII
_ASCII = """278 278 355 556 556 889 667 191 333 333 389 584 278 333 278 278 556 556 556 556 556 556 556 556 556
556 278 278 584 584 584 556 1015 667 667 722 722 667 611 778 722 278 500 667 556 833 722 778 667 778
722 667 611 722 667 944 667 667 611 278 278 278 469 556 333 556 556 500 556 556 278 556 556 222 222
500 222 833 556 556 556 556 333 500 278 556 500 722 500 500 500 334 260 334 584"""
_WIDTHS = {chr(32 + place): int(width) for place, width in enumerate(_ASCII.split())}
_OTHER, _WIDE, _BOLD = 620, 1100, 1.08


@lru_cache(maxsize=4096)
def width(text: str, size: float, bold: bool = False) -> float:
    """The width of a line; characters that Helvetica lacks are taken for wide ones of their kind."""
    total = sum(_WIDTHS.get(character) or _guess(character) for character in text)
    return total * size / 1000 * (_BOLD if bold else 1.0)


def _guess(character: str) -> int:
    if unicodedata.combining(character) or character in "\u200c\u200d\ufe0e\ufe0f":
        return 0
    wide = unicodedata.east_asian_width(character) in "WF" or unicodedata.category(character) == "So"
    return _WIDE if wide else _OTHER


def shorten(text: str, most: int = LONGEST) -> str:
    """A line with its middle left out when it is too long: the ends of names say most."""
    if len(text) <= most:
        return text
    head = most // 2
    return f"{text[:head]}…{text[len(text) - (most - head - 1) :]}"


def wrap(text: str, most: float, size: float) -> list[str]:
    """A sentence as lines no wider than `most` points, where its words allow it."""
    lines: list[str] = []
    for word in text.split(" "):
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and width(longer, size) <= most:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines
