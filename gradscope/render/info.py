"""What a recording holds, as text and as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict

from gradscope.model.printable import printable
from gradscope.model.summary import Calls
from gradscope.render.json import FORMAT, Object, site
from gradscope.version import __version__
from gradscope.view.contents import Contents, rows, table


def to_text(contents: Contents) -> str:
    """Names and values in two columns, then the backward calls as a table."""
    pairs = [(name, printable(value)) for name, value in rows(contents)]
    wide = max(len(name) for name, _ in pairs)
    lines = [f"{name:<{wide}}  {value}" for name, value in pairs]
    calls = [tuple(map(printable, row)) for row in table(contents)]
    if len(calls) > 1:
        lines += ["", *_columns(calls)]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def to_json(contents: Contents) -> str:
    """One object; `backwards` has a row for each kind of call when there are many."""
    page = {
        "format": FORMAT,
        "gradscope": __version__,
        "recording": contents.recording,
        "recovered": contents.recovered,
        "run": asdict(contents.run),
        "census": asdict(contents.census),
        "backwards": [_calls(calls) for calls in contents.calls],
        "faults": [asdict(fault) for fault in contents.faults],
    }
    return json.dumps(page, indent=1, allow_nan=False) + "\n"


def _calls(calls: Calls) -> Object:
    return {**asdict(calls), "site": site(calls.site)}


def _columns(table: list[tuple[str, ...]]) -> list[str]:
    """Rows under each other; a row with a single cell does not count for the widths."""
    full = [row for row in table if len(row) > 1]
    widths = [max(map(len, column)) for column in zip(*full, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=False)) for row in table]
