"""What `gradscope doctor` found, as text and as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

from gradscope.model.printable import printable
from gradscope.model.torch_part import Checked
from gradscope.render.json import FORMAT
from gradscope.view.health import Health, facts, part_rows, seen_rows


def to_text(health: Health) -> str:
    """Names and values in two columns, then what was seen of a small program, then the table of torch's parts."""
    tables: tuple[Sequence[tuple[str, ...]], ...] = (facts(health), seen_rows(health), part_rows(health))
    return "\n".join("\n".join(_aligned(table)) + "\n" for table in tables if table)


def to_json(health: Health) -> str:
    """One object; `details` lists by level of detail what it does without, `seen` what was recorded of a small program,
    `parts` what was found of torch's."""
    page = {
        "format": FORMAT,
        "well": health.well,
        "versions": health.versions,
        "torch": health.torch,
        "surroundings": health.surroundings,
        "refused": health.refused or None,
        "details": {detail: [asdict(lack) for lack in lacks] for detail, lacks in health.details.items()},
        "seen": [asdict(one) for one in health.seen],
        "parts": [_part(one) for one in health.parts],
    }
    return json.dumps(page, indent=1) + "\n"


def _part(one: Checked) -> dict[str, object]:
    return {
        "name": one.part.name,
        "found": one.found or None,
        "capability": one.part.capability,
        "gives": one.part.gives,
        "state": one.state.value,
        "note": one.note,
        "refines": one.part.refines,
    }


def _aligned(table: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in table)
    return [printable(line.rstrip()) for line in lines]
