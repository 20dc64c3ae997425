"""Lays rows of text out in columns, as rich's tables look, for tables of thousands of rows: rich takes 70 us a cell.

A row is a line, whatever the width: words are elided, and columns that say least give way, which the last line names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from rich.cells import cell_len

from gradscope.render.elide import elided

GAP, NARROW_GAP = 3, 2
_LEAST = 12  # characters that an elided column keeps
_BOLD, _PLAIN = "\x1b[1m", "\x1b[0m"


@dataclass(frozen=True, slots=True)
class Head:
    """The name above a column; whether its cells are words, which stand on the left; and what makes those shorter."""

    name: str
    words: bool
    shorten: Callable[[str, int], str] = elided


@dataclass(frozen=True, slots=True)
class Grid:
    """The places of the columns that are shown, how wide each is, and what stands between them."""

    places: tuple[int, ...]
    widths: tuple[int, ...]
    gap: str

    @property
    def across(self) -> int:
        """The cells of a line."""
        return sum(self.widths) + len(self.gap) * (len(self.widths) - 1)


def lay_out(
    heads: Sequence[Head], rows: Sequence[Sequence[str]], total: Sequence[str] | None, width: int, color: bool = False
) -> Iterator[str]:
    """The lines of a grid; `total` stands below a rule of its own."""
    cells = [*rows, *([] if total is None else [total])]
    grid = _grid(heads, cells, width)
    rule = "─" * grid.across
    names = _line(heads, [head.name for head in heads], grid)
    yield f"{_BOLD}{names}{_PLAIN}" if color else names
    yield rule
    for row in rows:
        yield _line(heads, row, grid)
    if total is not None:
        yield rule
        yield _line(heads, total, grid)
    hidden = [head.name for place, head in enumerate(heads) if place not in grid.places]
    if hidden:
        yield f"not shown for want of room: {', '.join(hidden)}"


def _grid(heads: Sequence[Head], cells: Sequence[Sequence[str]], width: int) -> Grid:
    """The widest that fits: with all columns, closer together, and then with fewer of them."""
    natural = [max(map(cell_len, column)) for column in zip([head.name for head in heads], *cells, strict=True)]
    places = list(range(len(heads)))
    duller = _dullest_first(heads, cells)
    key = _telling([row[0] for row in cells], natural[0], heads[0].shorten) if heads[0].words else natural[0]
    leasts = [key, *([_LEAST] * (len(heads) - 1))]
    gap = GAP
    while True:
        room = width - gap * (len(places) - 1)
        widths = _squeezed([(natural[one], leasts[one] if heads[one].words else natural[one]) for one in places], room)
        grid = Grid(tuple(places), tuple(widths), " " * gap)
        if grid.across <= width or len(places) == 1:
            return grid
        if gap > NARROW_GAP:
            gap = NARROW_GAP
        else:
            places.remove(next(duller))


def _dullest_first(heads: Sequence[Head], cells: Sequence[Sequence[str]]) -> Iterator[int]:
    """The columns in the order in which they give way: those that say the same everywhere, then the last ones."""
    same = [place for place in range(len(heads)) if len(cells) > 1 and len({row[place] for row in cells}) == 1]
    for place in reversed(same):
        if place:
            yield place
    yield from (place for place in reversed(range(1, len(heads))) if place not in same)


def _telling(names: Sequence[str], natural: int, shorten: Callable[[str, int], str]) -> int:
    """How narrow the names of rows may get and still tell the rows apart."""
    different = len(set(names))
    for size in range(min(_LEAST, natural), natural):
        if len({shorten(name, size) for name in names}) == different:
            return size
    return natural


def _squeezed(columns: Sequence[tuple[int, int]], room: int) -> list[int]:
    """How wide each column is, of those it would be and the least it can be: the widest give way first."""
    widths = [natural for natural, _ in columns]
    while sum(widths) > room:
        spare = [place for place, (_, least) in enumerate(columns) if widths[place] > least]
        if not spare:
            break
        widest = max(spare, key=lambda place: widths[place])
        next_widest = max((widths[place] for place in spare if widths[place] < widths[widest]), default=0)
        widths[widest] = max(widths[widest] - (sum(widths) - room), next_widest - 1, columns[widest][1])
    return widths


def _line(heads: Sequence[Head], row: Sequence[str], grid: Grid) -> str:
    padded = []
    for place, size in zip(grid.places, grid.widths, strict=True):
        head, cell = heads[place], row[place]
        shown = head.shorten(cell, size) if cell_len(cell) > size else cell
        space = " " * (size - cell_len(shown))
        padded.append(shown + space if head.words else space + shown)
    return grid.gap.join(padded).rstrip()
