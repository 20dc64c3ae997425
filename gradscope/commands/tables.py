"""What the commands that answer with tables share: which backward, sorting, how many rows, the format."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from gradscope.commands import options
from gradscope.errors import UsageError
from gradscope.model.table import Table
from gradscope.render.tables import TABLE_FORMATS, Page, choose
from gradscope.store.reader import Recording

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

top: Decorator = click.option(
    "--top", type=click.IntRange(min=1), default=40, show_default=True, help="Show this many rows."
)
sort: Decorator = click.option("--sort", metavar="COLUMN", help="Sort by this column.")
fmt: Decorator = click.option(
    "--fmt", type=click.Choice(list(TABLE_FORMATS)), help="How to write it. [default: what -o ends in, else text]"
)


def shared(function: Callable[..., Any]) -> Callable[..., Any]:
    """The arguments that all of them take."""
    for decorator in (options.quiet, options.color, options.force, options.output, fmt, top, sort, options.backward):
        function = decorator(function)
    return options.recording(function)


def by(places: list[str], help: str) -> Decorator:
    """`--by`: what a row stands for."""
    return click.option("--by", type=click.Choice(places), default=places[0], show_default=True, help=help)


def deliver(opened: Recording, tables: list[Table], chosen: dict[str, Any]) -> None:
    """Sort and cut the first table as asked, and write all."""
    first, *rest = tables
    if chosen["sort"] is not None:
        if chosen["sort"] not in first.names:
            raise UsageError(f"there is no column {chosen['sort']}", f"--sort takes one of {', '.join(first.names)}")
        first = first.sorted_by(chosen["sort"])
    form = choose(chosen["fmt"], chosen["output"])
    if form.name == "text":
        first = first.top(chosen["top"])
    page = Page(
        str(opened.path),
        (first, *rest),
        opened.run().cwd,
        options.page_width(chosen["output"]),
        options.wants_color(chosen["color"], chosen["output"]),
    )
    options.deliver(form.render(page), chosen["output"], chosen["quiet"])
