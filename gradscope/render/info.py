"""What a recording holds, as text and as JSON."""

from __future__ import annotations

import json
import textwrap
from dataclasses import asdict

from gradscope.model.printable import printable
from gradscope.model.summary import Calls
from gradscope.render.grid import Head, lay_out
from gradscope.render.json import FORMAT, Object, site
from gradscope.version import __version__
from gradscope.view.contents import WORDS, Contents, rows, table


def to_text(contents: Contents, width: int = 160) -> str:
    """Names and values in two columns, then the backward calls as a table."""
    pairs = [(name, printable(value)) for name, value in rows(contents)]
    wide = max(len(name) for name, _ in pairs)
    lines = [line for name, value in pairs for line in _pair(name, value, wide, width)]
    heads, *calls = [tuple(map(printable, row)) for row in table(contents)]
    if calls:
        full = [row for row in calls if len(row) == len(heads)]
        columns = [Head(name, name in WORDS) for name in heads]
        lines += ["", *lay_out(columns, full, None, width), *(row[0] for row in calls if len(row) < len(heads))]
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


def _pair(name: str, value: str, wide: int, width: int) -> list[str]:
    """A name and its value, on as many lines as the value needs; long words, such as paths, stay whole."""
    found = textwrap.wrap(value, max(width - wide - 2, 20), break_long_words=False, break_on_hyphens=False) or [""]
    return [f"{name if number == 0 else '':<{wide}}  {line}" for number, line in enumerate(found)]
