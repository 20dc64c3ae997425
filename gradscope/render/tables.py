"""Tables as text, JSON and CSV. The choices of `--fmt` and the tests derive from TABLE_FORMATS."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePath

from gradscope.errors import UsageError
from gradscope.model.printable import printable
from gradscope.model.table import Column, Row, Table, Unit, Value, curve
from gradscope.render import grid, plot
from gradscope.render.elide import elided, middle
from gradscope.render.wrap import wrapped
from gradscope.version import __version__
from gradscope.view.sparkline import narrowed, sparkline
from gradscope.view.words import seconds, short_file, size

FORMAT = 1


@dataclass(frozen=True, slots=True)
class Page:
    """Tables of one recording. `folder` is the run's working directory: lines in it are shown relative to it."""

    recording: str
    tables: tuple[Table, ...]
    folder: str = ""
    width: int = 100
    color: bool = False


@dataclass(frozen=True, slots=True)
class TableFormat:
    """A name for `--fmt`, the suffix that `-o` guesses it from, and what writes it."""

    name: str
    suffix: str
    render: Callable[[Page], str]


def text(page: Page) -> str:
    """For people: units and shares as words, one table after the other; one with nothing to say is not mentioned."""
    lines: list[str] = []
    speaking = [table for table in page.tables if table.rows] or page.tables[:1]
    for table in page.tables:
        if table in speaking:
            lines += _grid(table, page) if table.rows else [printable(f"{table.name}: nothing to show")]
        lines += [line for note in table.notes for line in wrapped(printable(note), page.width)]
    return "\n".join(lines) + "\n"


def to_json(page: Page) -> str:
    """For programs: the values as they are, one row a line."""
    head = {"format": FORMAT, "gradscope": __version__, "recording": page.recording}
    tables = {table.name: _object(table) for table in page.tables}
    return json.dumps({**head, **tables}, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def to_csv(page: Page) -> str:
    """For spreadsheets: the first table's values, the total last. With control characters escaped, for CSV is read."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    table = page.tables[0]
    writer.writerow(table.names)
    rows = table.rows if table.total is None else (*table.rows, table.total)
    writer.writerows([printable(cell) if isinstance(cell, str) else cell for cell in row] for row in rows)
    return stream.getvalue()


def to_svg(page: Page) -> str:
    """A plot of the first table's curves. Raises UsageError when it has none."""
    table = page.tables[0]
    places = [place for place, column in enumerate(table.columns) if column.unit is Unit.CURVE]
    if not places:
        sentence = f"{table.name} has no curves to plot"
        raise UsageError(sentence, "`gradscope grads --fmt svg` has; text, json and csv are for every table")
    return plot.render({str(row[0]): curve(str(row[places[0]])) for row in table.rows}, table.columns[places[0]].help)


TABLE_FORMATS = {
    each.name: each
    for each in (
        TableFormat("text", ".txt", text),
        TableFormat("json", ".json", to_json),
        TableFormat("csv", ".csv", to_csv),
        TableFormat("svg", ".svg", to_svg),
    )
}


def choose(name: str | None, output: str | None) -> TableFormat:
    """The format that was named, else the one of the output's suffix, else text."""
    if name is not None:
        return TABLE_FORMATS[name]
    suffix = Path(output).suffix if output and output != "-" else ""
    return next((each for each in TABLE_FORMATS.values() if each.suffix == suffix), TABLE_FORMATS["text"])


def _object(table: Table) -> dict[str, object]:
    rows = [dict(zip(table.names, row, strict=True)) for row in table.rows]
    total = {} if table.total is None else {"total": dict(zip(table.names, table.total, strict=True))}
    return {"rows": rows, **total, "notes": list(table.notes)}


def _grid(table: Table, page: Page) -> Iterator[str]:
    heads = [_head(column) for column in table.columns]
    rows = [in_words(table, row, page.folder) for row in table.rows]
    total = None if table.total is None else in_words(table, table.total, page.folder)
    return grid.lay_out(heads, rows, total, page.width, page.color)


def _head(column: Column) -> grid.Head:
    name = printable(column.name)
    if column.unit is Unit.CURVE:
        return grid.Head(name, True, narrowed)
    return grid.Head(name, column.unit.is_text, middle if column.unit is Unit.PLACE else elided)


def in_words(table: Table, row: Row, folder: str) -> list[str]:
    """A row's values as people read them, files made short where they are below `folder`."""
    return [_words(column, value, folder) for column, value in zip(table.columns, row, strict=True)]


def _words(column: Column, value: Value, folder: str) -> str:
    """A value as people read it."""
    if value is None:
        return "-"
    if isinstance(value, str):
        if column.unit is Unit.CURVE:
            return sparkline(curve(value))
        return _short(value, folder) if column.unit is Unit.PLACE else printable(value)
    return NUMBERS[column.unit](value)


NUMBERS: dict[Unit, Callable[[float], str]] = {
    Unit.BYTES: lambda value: size(int(value)),
    Unit.SECONDS: seconds,
    Unit.SHARE: lambda value: f"{value:.1%}",
    Unit.COUNT: lambda value: f"{value:,}",
    Unit.NUMBER: lambda value: f"{value:.3g}",
}


def _short(value: str, folder: str) -> str:
    """A place with its file made short."""
    file, colon, rest = value.partition(":")
    if not PurePath(file).is_absolute():
        return printable(value)
    return printable(f"{short_file(file, folder)}{colon}{rest}")
