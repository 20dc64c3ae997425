"""What `gradscope doctor` found, as text and as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

from gradscope.model.printable import printable
from gradscope.render.json import FORMAT
from gradscope.view.health import Health, facts, seam_rows


def to_text(health: Health) -> str:
    """Names and values in two columns, then the table of torch's parts."""
    tables: tuple[Sequence[tuple[str, ...]], ...] = (facts(health), seam_rows(health))
    return "\n".join("\n".join(_aligned(table)) + "\n" for table in tables if table)


def to_json(health: Health) -> str:
    """One object; `details` lists by level of detail what it lacks, `seams` what was found of torch's parts."""
    return json.dumps({"format": FORMAT, "well": health.well, **asdict(health)}, indent=1) + "\n"


def _aligned(table: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in table)
    return [printable(line.rstrip()) for line in lines]
