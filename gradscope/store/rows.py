"""Rows of a recording with every value's type checked, since SQLite lets any column hold anything."""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Callable, Iterator
from functools import lru_cache
from types import NoneType
from typing import Any, Generic, TypeVar

Column = frozenset[type]
Packed = tuple[str, ...]

INTEGER: Column = frozenset({int})
REAL: Column = frozenset({float})
TEXT: Column = frozenset({str})
BYTES: Column = frozenset({bytes})
MAYBE: Column = frozenset({NoneType})

_WHOLE = INTEGER | MAYBE
_PACKED = TEXT | MAYBE
Row = tuple[Any, ...]
Stood = TypeVar("Stood")

BATCH = 500  # rows that are checked together


class StandFor(dict[Packed, Stood], Generic[Stood]):
    """What rows of integers stand for, by the texts of these. Of rows that are equal one is checked, and worked on: a
    run has millions, and few differ."""

    def __init__(self, columns: tuple[Column, ...], make: Callable[[Row], Stood]) -> None:
        super().__init__()
        self.columns, self._make = columns, make

    def __missing__(self, texts: Packed) -> Stood:
        row = tuple(None if text == "null" else int(text) for text in texts)
        for value, column in zip(row, self.columns, strict=True):
            if type(value) not in column:
                raise ValueError(f"a value has the wrong type in {row!r}")
        found = self[texts] = self._make(row)
        return found


class Rows:
    """Typed queries over one connection."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def select(self, sql: str, columns: tuple[Column, ...], *parameters: float) -> Iterator[tuple[Any, ...]]:
        """The rows of a query; ValueError when a value is not of its column's types."""
        for rows, _ in self._batches(sql, columns, parameters):
            yield from rows

    def all(self, sql: str, columns: tuple[Column, ...], *parameters: float) -> list[tuple[Any, ...]]:
        """The rows of a query, at once: half as dear as one by one."""
        found: list[tuple[Any, ...]] = []
        for rows, _ in self._batches(sql, columns, parameters):
            found += rows
        return found

    def each(self, sql: str, stand_for: StandFor[Stood], *parameters: float) -> list[Stood]:
        """What each row of a query stands for, at once. Its columns come as a text of JSON each, cut at the commas."""
        texts = self._texts(sql, stand_for.columns, parameters)
        columns = (text[1:-1].split(",") if len(text) > 2 else () for text in texts)
        return list(map(stand_for.__getitem__, zip(*columns, strict=True)))

    def columns(self, sql: str, columns: tuple[Column, ...], *parameters: float) -> tuple[list[Any], ...]:
        """The columns of a query, each as a list: what is done to all of one is done much quicker than row by row."""
        if all(column <= _WHOLE or column is TEXT for column in columns):
            return self._as_texts(sql, columns, parameters)
        found: tuple[list[Any], ...] = tuple([] for _ in columns)
        for _, batch in self._batches(sql, columns, parameters):
            for column, values in zip(found, batch, strict=True):
                column.extend(values)
        return found

    def _as_texts(self, sql: str, columns: tuple[Column, ...], parameters: tuple[float, ...]) -> tuple[list[Any], ...]:
        """The same of integers and texts, which come as a text of JSON each: for two thirds of the price of rows."""
        texts = self._texts(sql, columns, parameters)
        found = tuple(map(json.loads, texts))
        if not all(map(_is_of, columns, texts, found)):
            raise ValueError(f"a value has the wrong type in {sql!r}")
        return found

    def _texts(self, sql: str, columns: tuple[Column, ...], parameters: tuple[float, ...]) -> Packed:
        """The columns of a query, each as one text of JSON."""
        return self.one(_as_json(sql, len(columns)), (TEXT,) * len(columns), *parameters)

    def _batches(
        self, sql: str, columns: tuple[Column, ...], parameters: tuple[float, ...]
    ) -> Iterator[tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]]:
        """Some rows, and the same as columns, until there are no more."""
        cursor = self._connection.execute(sql, parameters)
        while rows := cursor.fetchmany(BATCH):
            batch = list(zip(*rows, strict=True))
            for values, column in zip(batch, columns, strict=True):  # a column at a time is quicker
                if not column.issuperset(map(type, values)):
                    raise ValueError(f"a value has the wrong type in {sql!r}")
            yield rows, batch

    def packed(self, sql: str, *parameters: float) -> Packed:
        """The columns of a query, each as one text of `unpacked` integers: a quarter of the price of rows, for what is
        only held against its like.

        SQLite puts rows together as they come: in the order of a table's primary key where they are searched for by it,
        else the query orders them in a subquery, which takes a quarter longer.
        """
        row = self._connection.execute(sql, parameters).fetchone()
        if not _PACKED.issuperset(map(type, row)):
            raise ValueError(f"a value has the wrong type in {sql!r}")
        return tuple(text or "" for text in row)

    def one(self, sql: str, columns: tuple[Column, ...], *parameters: float) -> tuple[Any, ...]:
        """The only row of a query; LookupError when there is none."""
        for row in self.select(sql, columns, *parameters):
            return row
        raise LookupError(f"nothing found by {sql!r} with {parameters}")

    def number(self, sql: str) -> int:
        """The one integer that a query answers with; an empty sum is 0."""
        (value,) = self.one(sql, (INTEGER | MAYBE,))
        return int(value or 0)


@lru_cache(maxsize=256)
def _as_json(sql: str, width: int) -> str:
    names = [f"column_{number}" for number in range(width)]
    lists = ", ".join(f"json_group_array({name})" for name in names)
    return f"WITH found({', '.join(names)}) AS ({sql}) SELECT {lists} FROM found"


def _is_of(column: Column, text: str, values: list[Any]) -> bool:
    """Whether a text of JSON holds what its column may: all else that SQLite writes where integers are expected has one
    of these letters, and to look for a letter is quicker than to ask each value for its type."""
    if column is TEXT:
        return column.issuperset(map(type, values))
    strange = '".eIf' if column >= MAYBE else '".eIfn'
    return not any(letter in text for letter in strange)


def unpacked(text: str) -> tuple[int, ...]:
    """The integers of a column that was read as one text."""
    return tuple(map(int, text.split(","))) if text else ()


@lru_cache(maxsize=1024)
def integers(text: str) -> tuple[int, ...]:
    """A JSON list of integers; shapes and members of groups are the same in all recordings of a run."""
    values = json.loads(text)
    if not isinstance(values, list) or any(type(value) is not int for value in values):
        raise ValueError("a list of integers was expected")
    return tuple(values)


def finite(value: float) -> float:
    """A time, which JSON must be able to carry."""
    if not math.isfinite(value):
        raise ValueError("a time is not finite")
    return value
