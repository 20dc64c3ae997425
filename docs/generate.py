"""Fills the generated parts of the pages beside it: `python docs/generate.py`. A test holds the pages to it.

A part stands between `<!-- generated: NAME -->` and `<!-- end -->`, and NAME is a key of PARTS.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click

from gradscope.cli import COMMANDS, gradscope
from gradscope.explain.findings.table import KINDS
from gradscope.model.capabilities import CAPABILITIES, SILENCED
from gradscope.model.page import line
from gradscope.ranks.table import RANK_KINDS
from gradscope.render.formats import FORMATS
from gradscope.store.schema import TABLES
from gradscope.torch_internals.parts import TABLE

DOCS = Path(__file__).resolve().parent
PART = re.compile(r"(<!-- generated: (?P<name>[\w -]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def pages() -> Iterator[Path]:
    """Every page that may have generated parts."""
    yield from sorted(DOCS.glob("*.md"))


def filled(text: str) -> str:
    """A page's text with its generated parts as they should be."""
    return PART.sub(lambda found: f"{found[1]}{PARTS[found['name']]()}{found[3]}", text)


def table(headings: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> str:
    """A Markdown table."""
    lines = [headings, tuple("---" for _ in headings), *rows]
    return "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |\n" for line in lines)


def usage(name: str) -> str:
    """A command's usage and its options, as click knows them."""
    command = _command(name)
    with click.Context(command, info_name=f"gradscope {name}", help_option_names=["-h", "--help"]) as context:
        line = " ".join([context.command_path, *command.collect_usage_pieces(context)])
        options = [one for one in command.get_params(context) if isinstance(one, click.Option)]
        records = [one.get_help_record(context) for one in options]
    rows = ((f"`{record[0]}`", record[1]) for record in records if record is not None)
    return f"```\n{line}\n```\n\n{table(('option', 'what it does'), rows)}"


def formats() -> str:
    """The formats of `gradscope graph`."""
    rows = ((f"`{each.name}`", f"`{each.suffix}`", each.help, each.needs or "nothing") for each in FORMATS.values())
    return table(("format", "file name", "what it is", "needs"), rows)


def kinds() -> str:
    """The kinds of faults that are explained."""
    found = ((one.code, one.name, one.severity.value, line(one.section("What it flags"))) for one in KINDS.values())
    return table(("code", "name", "severity", "what it flags"), found)


def rank_kinds() -> str:
    """The kinds of faults of several ranks."""
    kinds = RANK_KINDS.values()
    found = ((one.code, one.name, one.severity.value, line(one.section("What it flags"))) for one in kinds)
    return table(("code", "name", "severity", "what it flags"), found)


def tables() -> str:
    """The recording's tables."""
    return f"```sql\n{TABLES.strip()}\n```\n"


def keys(name: str) -> str:
    """The keys of an object of the JSON, as the schema has them."""
    schema = json.loads((DOCS / "graph.schema.json").read_text(encoding="utf-8"))
    found = schema if name == "graph" else schema["$defs"][name]
    rows = ((f"`{key}`", _kind(value), value.get("description", "")) for key, value in found["properties"].items())
    return table(("key", "type", "what it is"), rows)


def parts() -> str:
    """The private parts of torch that gradscope stands on."""
    rows = ((", ".join(f"`{name}`" for name in (one.name, *one.variants)), one.capability, one.gives) for one in TABLE)
    return table(("part of torch, or else", "for", "what it gives"), rows)


def capabilities() -> str:
    """What each capability is, and what is said of nothing without it."""
    rows = (
        (one.name, "refused" if one.needed else one.lost, ", ".join(f"{code}…" for code in SILENCED.get(one.name, ())))
        for one in CAPABILITIES.values()
    )
    return table(("capability", "without it", "findings that are not told then"), rows)


def _command(name: str) -> click.Command:
    command = gradscope.get_command(click.Context(gradscope), name)
    assert command is not None
    return command


def _kind(value: dict[str, Any]) -> str:
    if "$ref" in value:
        return str(value["$ref"]).rpartition("/")[2]
    if "anyOf" in value:
        return " or ".join(map(_kind, value["anyOf"]))
    if value.get("type") == "array":
        return f"list of {_kind(value['items'])}"
    kinds = value.get("type", str(value.get("const")))
    return kinds if isinstance(kinds, str) else " or ".join(kinds)


OBJECTS = (
    "graph",
    "node",
    "edge",
    "firing",
    "backward",
    "site",
    "frame",
    "saved",
    "type",
    "hook",
    "parent",
    "function",
)
PARTS: dict[str, Callable[[], str]] = {
    "formats": formats,
    "kinds": kinds,
    "rank kinds": rank_kinds,
    "tables": tables,
    "parts": parts,
    "capabilities": capabilities,
    **{f"usage {name}": (lambda name=name: usage(name)) for name in COMMANDS},  # type: ignore[misc]
    **{f"keys {name}": (lambda name=name: keys(name)) for name in OBJECTS},  # type: ignore[misc]
}


def main() -> None:
    """Rewrite the pages that are out of date, and say which."""
    for page in pages():
        text = page.read_text(encoding="utf-8")
        if filled(text) != text:
            page.write_text(filled(text), encoding="utf-8")
            print(f"rewrote {page.name}", file=sys.stderr)


if __name__ == "__main__":
    main()
