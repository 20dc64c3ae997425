"""`gradscope rule CODE`: the page of a rule. Loads no torch."""

from __future__ import annotations

import click

from gradscope.commands import options
from gradscope.errors import UsageError
from gradscope.functions.rules.rule import HEADINGS, Rule
from gradscope.functions.rules.table import RULES


@click.command("rule", context_settings=options.HELP)
@click.argument("code", required=False)
@click.option("--markdown", is_flag=True, help="All rules as the table that the documentation shows.")
def command(code: str | None, markdown: bool) -> None:
    """Print a rule's page, or list all rules."""
    if markdown:
        click.echo(table(), nl=False)
        return
    if code is None:
        click.echo("\n".join(f"{rule.code}  {rule.severity.value:<8} {rule.name}" for rule in RULES.values()))
        return
    rule = RULES.get(code.upper()) or next((r for r in RULES.values() if r.name == code), None)
    if rule is None:
        raise UsageError(f"there is no rule {code}", "`gradscope rule` lists them all")
    click.echo(page(rule))


def page(rule: Rule) -> str:
    """The page as text."""
    sections = [f"{heading}\n    {rule.section(heading)}" for heading in HEADINGS]
    return "\n\n".join([f"{rule.code} {rule.name} ({rule.severity.value}, level {rule.promise})", *sections])


def table() -> str:
    """All rules as a Markdown page."""
    cells = [
        (rule.code, rule.name, rule.severity.value, rule.section(HEADINGS[0]), rule.section(HEADINGS[2]))
        for rule in RULES.values()
    ]
    rows = [f"| {' | '.join(row)} |" for row in cells]
    head = [
        "# Rules of check-function",
        "",
        "Made by `gradscope rule --markdown`; `gradscope rule CODE` says more.",
        "",
    ]
    return (
        "\n".join([*head, "| code | name | severity | what it flags | do instead |", "|---|---|---|---|---|", *rows])
        + "\n"
    )
