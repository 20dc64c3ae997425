"""Lays rows of text out in columns, as rich's tables look, for tables of thousands of rows: rich takes 70 us a cell.

What does not fit is folded at spaces, the widest columns of words first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.cells import cell_len, chop_cells

GAP = "   "
_LEAST = 12  # characters that a folded column keeps
_BOLD, _PLAIN = "\x1b[1m", "\x1b[0m"


@dataclass(frozen=True, slots=True)
class Head:
    """The name above a column, and whether its cells are words, which stand on the left and may be folded."""

    name: str
    words: bool


def lay_out(
    heads: Sequence[Head], rows: Sequence[Sequence[str]], total: Sequence[str] | None, width: int, color: bool = False
) -> Iterator[str]:
    """The lines of a grid; `total` stands below a rule of its own."""
    cells = [*rows, *([] if total is None else [total])]
    widths = _widths(heads, cells, width)
    rule = "─" * (sum(widths) + len(GAP) * (len(widths) - 1))
    yield from (f"{_BOLD}{line}{_PLAIN}" if color else line for line in _lines(heads, _names(heads), widths))
    yield rule
    for row in rows:
        yield from _lines(heads, row, widths)
    if total is not None:
        yield rule
        yield from _lines(heads, total, widths)


def _names(heads: Sequence[Head]) -> list[str]:
    return [head.name for head in heads]


def _widths(heads: Sequence[Head], rows: Sequence[Sequence[str]], width: int) -> list[int]:
    """How wide each column is: as wide as its cells, unless the grid is too wide then."""
    columns = zip(_names(heads), *rows, strict=True)
    widths = [max(map(cell_len, column)) for column in columns]
    room = width - len(GAP) * (len(widths) - 1)
    words = [place for place, head in enumerate(heads) if head.words]
    while sum(widths) > room and any(widths[place] > _LEAST for place in words):
        widest = max(words, key=lambda place: widths[place])
        next_widest = max((widths[place] for place in words if widths[place] < widths[widest]), default=_LEAST)
        widths[widest] = max(widths[widest] - (sum(widths) - room), next_widest - 1, _LEAST)
    return widths


def _lines(heads: Sequence[Head], row: Sequence[str], widths: list[int]) -> Iterator[str]:
    """A row, on as many lines as its longest cell needs."""
    if all(cell_len(cell) <= size for cell, size in zip(row, widths, strict=True)):
        yield _line(heads, row, widths)
        return
    folded = [list(_fold(cell, size)) for cell, size in zip(row, widths, strict=True)]
    for number in range(max(map(len, folded))):
        yield _line(heads, [lines[number] if number < len(lines) else "" for lines in folded], widths)


def _line(heads: Sequence[Head], row: Sequence[str], widths: list[int]) -> str:
    padded = []
    for head, cell, size in zip(heads, row, widths, strict=True):
        space = " " * (size - cell_len(cell))
        padded.append(cell + space if head.words else space + cell)
    return GAP.join(padded).rstrip()


def _fold(cell: str, size: int) -> Iterator[str]:
    """A cell's text in lines that fit: cut at spaces where there are some."""
    line = ""
    for word in cell.split(" "):
        joined = f"{line} {word}" if line else word
        if cell_len(joined) <= size:
            line = joined
            continue
        if line:
            yield line
        *full, line = chop_cells(word, size) or [""]
        yield from full
    yield line
