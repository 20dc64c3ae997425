"""The formats of `gradscope ranks`: a report as explain's, with the table of ranks beside it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

import click

from gradscope.model.report import Report
from gradscope.model.table import Table
from gradscope.render import rank_html, report_json, report_text, sarif, tables

Text = str
_MOST_ROWS = 64


@dataclass(frozen=True, slots=True)
class RankPage:
    """What is written: findings and the table. `folder` is the run's working directory."""

    report: Report
    table: Table
    folder: str = ""
    width: int = 160
    color: bool = False


def _text(page: RankPage) -> Text:
    grid = tables.text(tables.Page("", (page.table.top(_MOST_ROWS),), page.folder, page.width, page.color))
    found = report_text.render(page.report, min(page.width, report_text.WIDTH))
    return f"{grid}\n{found if page.color else click.unstyle(found)}"


def _json(page: RankPage) -> Text:
    names = [name.replace(" ", "_") for name in page.table.names]
    rows = [dict(zip(names, row, strict=True)) for row in page.table.rows]
    content = report_json.as_object(page.report)
    content["ranks"] = [{name: value for name, value in row.items() if value is not None} for row in rows]
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


RANK_FORMATS: dict[str, Callable[[RankPage], Text]] = {
    "text": _text,
    "json": _json,
    "sarif": lambda page: sarif.render(page.report),
    "html": lambda page: rank_html.render(page.report, page.table, page.folder),
}
SUFFIXES = {".json": "json", ".sarif": "sarif", ".html": "html"}
