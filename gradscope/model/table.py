"""A table of answers: named columns with units, rows of plain values. Formats decide how a value is written."""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace

Value = str | int | float | None
Row = tuple[Value, ...]


class Unit(enum.Enum):
    """What a column's values are. PLACE is `file:line`, perhaps with words behind; SHARE is a part of 1; CURVE is one
    number after another, separated by spaces.
    """

    TEXT = "text"
    PLACE = "place"
    COUNT = "count"
    BYTES = "bytes"
    SECONDS = "seconds"
    SHARE = "share"
    NUMBER = "number"
    CURVE = "curve"

    @property
    def is_text(self) -> bool:
        """Whether values are words, which sort from a to z; numbers sort from the greatest down."""
        return self in (Unit.TEXT, Unit.PLACE, Unit.CURVE)


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its name, which is its key in JSON, its unit, and what it means."""

    name: str
    unit: Unit = Unit.TEXT
    help: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under columns. `notes` are sentences that a reader needs to understand them. `total` is a row below them."""

    name: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()
    total: Row | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(column.name for column in self.columns)

    def sorted_by(self, name: str) -> Table:
        """The same rows in the order of one column; what has no value stands last."""
        place = self.names.index(name)
        known = [row for row in self.rows if row[place] is not None]
        unknown = [row for row in self.rows if row[place] is None]
        words = self.columns[place].unit.is_text
        ordered = sorted(known, key=lambda row: row[place], reverse=not words)  # type: ignore[arg-type, return-value]
        return replace(self, rows=(*ordered, *unknown))

    def top(self, count: int) -> Table:
        """The first rows, and a note of how many were left out."""
        left = len(self.rows) - count
        if left <= 0:
            return self
        note = f"{left:,} more row{'s' if left > 1 else ''}: --top {len(self.rows)} shows all"
        return replace(self, rows=self.rows[:count], notes=(*self.notes, note))


def curve(value: str) -> list[float]:
    """The numbers of a CURVE."""
    return [float(word) for word in value.split()]
