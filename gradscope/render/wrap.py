"""Breaks a line that is too wide for a terminal, between words, and words that are wider than a line anywhere."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from rich.cells import cell_len, chop_cells

_WORD = re.compile(r"\s*\S+\s*")


def breaks(text: str, room: int) -> Iterator[int]:
    """The places at which the lines after the first begin."""
    used = 0
    for found in _WORD.finditer(text):
        word, start = found.group(), found.start()
        size = cell_len(word.rstrip())
        if used + size <= room:
            used += cell_len(word)
            continue
        pieces = [word] if size <= room else chop_cells(word, max(room, 1))
        for piece in pieces:
            if start:
                yield start
            start += len(piece)
        used = cell_len(pieces[-1])


def wrapped(text: str, room: int) -> list[str]:
    """A sentence on one line, or on as many as it takes."""
    places = [0, *breaks(text, room), len(text)]
    return [text[start:stop].rstrip() for start, stop in pairwise(places)]


def cut(words: Sequence[tuple[str, str]], start: int, stop: int, room: int) -> list[tuple[str, str]]:
    """What stands between two places of words with their styles, without the blanks that reach past the room."""
    text = "".join(text for text, _ in words)
    while stop > start and text[stop - 1].isspace() and cell_len(text[start:stop]) > room:
        stop -= 1
    found, place = list[tuple[str, str]](), 0
    for text, style in words:
        found.append((text[max(start - place, 0) : max(stop - place, 0)], style))
        place += len(text)
    return found
