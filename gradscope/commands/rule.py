"""`gradscope rule CODE`: the page of a rule of check-function or of a kind of finding. Loads no torch."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

import click

from gradscope.commands import options
from gradscope.commands.catalogue import CODES
from gradscope.errors import UsageError
from gradscope.explain.findings import kind as explained
from gradscope.explain.findings.kind import Kind
from gradscope.functions.rules import rule as checked
from gradscope.functions.rules.rule import Rule
from gradscope.functions.rules.table import RULES
from gradscope.model.page import line
from gradscope.ranks.core.kind import RankKind

SILENCE = """How to silence it
    On every line: `--ignore {code}`. On one line: `# gradscope: ignore[{code}] and the reason`"""


@click.command("rule", context_settings=options.HELP)
@click.argument("code", required=False)
@click.option("--markdown", is_flag=True, help="All rules of check-function as the table in the documentation.")
def command(code: str | None, markdown: bool) -> None:
    """Print the page of a code, or list all codes."""
    if markdown:
        click.echo(table(), nl=False)
        return
    if code is None:
        click.echo("\n".join(f"{one.code}  {one.severity.value:<8} {one.name}" for one in CODES.values()))
        return
    found = CODES.get(code.upper()) or next((one for one in CODES.values() if one.name == code), None)
    if found is None:
        raise UsageError(f"there is no rule {code}", "`gradscope rule` lists them all")
    click.echo(page(found))


def page(one: Rule | Kind | RankKind) -> str:
    """The page as text."""
    head = f"{one.code} {one.name} ({one.severity.value}"
    if isinstance(one, Kind | RankKind):
        sections = [(heading, one.section(heading)) for heading in explained.HEADINGS]
        return "\n\n".join([f"{head})", *_blocks(sections), SILENCE.format(code=one.code)])
    sections = [(heading, one.section(heading)) for heading in checked.HEADINGS]
    return "\n\n".join([f"{head}, level {one.promise})", *_blocks(sections)])


def _blocks(sections: Iterable[tuple[str, str]]) -> list[str]:
    return [f"{heading}\n{textwrap.indent(text, '    ')}" for heading, text in sections if text]


def table() -> str:
    """The rules of check-function as a Markdown page."""
    head = [
        "# Rules of check-function",
        "",
        "Made by `gradscope rule --markdown`; `gradscope rule CODE` says more.",
        "",
    ]
    return "\n".join([*head, *rows(RULES.values())]) + "\n"


def rows(codes: Iterable[Rule | Kind]) -> list[str]:
    """Codes as the lines of a Markdown table."""
    lines = [
        (one.code, one.name, one.severity.value, line(one.section("What it flags")), line(one.section("Do instead")))
        for one in codes
    ]
    head = ["| code | name | severity | what it flags | do instead |", "|---|---|---|---|---|"]
    return [*head, *(f"| {' | '.join(each)} |" for each in lines)]
