"""Cuts words to a number of cells on a terminal: names in the middle, because both their ends tell them apart."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len, set_cell_size

ELISION = "…"
GAP = "  "  # between what stands on a line
_LEAST = (14, 10)  # cells that an elided name keeps; where not even that fits


def middle(text: str, size: int) -> str:
    """`Accumul…Grad`."""
    if cell_len(text) <= size:
        return text
    room = max(size - 1, 0)
    tail = _ending(text, room // 2)
    head = set_cell_size(text, room - cell_len(tail)).rstrip()
    return f"{head}{ELISION}{tail}"[: max(size, 1)]


def end(text: str, size: int) -> str:
    """What is listed, up to where the room ends: `convolution 16, add 8…`."""
    if cell_len(text) <= size:
        return text
    return set_cell_size(text, max(size - 1, 0)).rstrip(" ,→") + ELISION


def elided(text: str, size: int) -> str:
    """Lists at their end, anything else in the middle."""
    return end(text, size) if ", " in text or " → " in text else middle(text, size)


def fitting(texts: Sequence[str], room: int) -> list[str]:
    """What stands on a line, the longest elided until all fit on it."""
    texts = list(texts)
    over = sum(map(cell_len, texts)) + len(GAP) * (len(texts) - 1) - room
    for least in _LEAST:
        while over > 0 and max(map(cell_len, texts)) > least:
            place = max(range(len(texts)), key=lambda one: cell_len(texts[one]))
            shorter = elided(texts[place], max(cell_len(texts[place]) - over, least))
            over -= cell_len(texts[place]) - cell_len(shorter)
            texts[place] = shorter
    return texts


def _ending(text: str, size: int) -> str:
    """The last characters that fit."""
    taken, used = 0, 0
    for character in reversed(text):
        used += cell_len(character)
        if used > size:
            break
        taken += 1
    return text[len(text) - taken :].lstrip()
