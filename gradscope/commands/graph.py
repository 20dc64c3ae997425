"""`gradscope graph`: draw the graph of one recorded backward call."""

from __future__ import annotations

import click

from gradscope.commands import options, pages
from gradscope.errors import NothingCheckedError
from gradscope.graphs.part import of_level
from gradscope.model.graph import Graph
from gradscope.render import html
from gradscope.render.formats import FORMATS, choose
from gradscope.view.ordered import ordered
from gradscope.view.scene import Scene

FORMAT_HELP = "; ".join(f"{format.name}: {format.help}" for format in FORMATS.values())


@click.command(context_settings=options.HELP)
@options.recording
@click.option("--fmt", type=click.Choice(list(FORMATS)), help=f"{FORMAT_HELP}. Default: what -o ends in, else text.")
@options.backward
@click.option("--depth", type=click.IntRange(min=1), help="How many levels of modules to open; default: what fits.")
@click.option("--level", type=click.IntRange(min=0), metavar="K", help="Only nodes of this torch.func level; 0: none.")
@pages.others
@pages.source
@options.output
@options.force
@options.color
@options.quiet
def command(
    recording: str | None,
    fmt: str | None,
    backward: int | None,
    depth: int | None,
    level: int | None,
    others: int,
    source: bool,
    output: str | None,
    force: bool,
    color: str,
    quiet: bool,
) -> None:
    """Draw the graph that a backward call ran through.

    Without a RECORDING, the newest in the working directory (or $GRADSCOPE_DIR) is read.
    """
    options.check_output(output, force)
    format = choose(fmt, output)
    with options.open_recording(recording, quiet) as opened:
        if format.render is html.render and level is None:  # a page shows more than its one graph
            options.deliver(html.page(pages.gather(opened, backward, others, source)), output, quiet)
            return
        scene = Scene(
            graph=_chosen(ordered(opened.graph(backward)), level),
            run=opened.run(),
            recording=str(opened.path),
            depth=depth,
            width=options.page_width(output),
            color=options.wants_color(color, output),
        )
        options.deliver(format.render(scene), output, quiet)


def _chosen(graph: Graph, level: int | None) -> Graph:
    """The whole graph, or what belongs to one level. Raises NothingCheckedError when nothing does."""
    if level is None:
        return graph
    found = of_level(graph, level)
    if not found.nodes:
        sentence = f"no node of backward {graph.backward.number} belongs to level {level}"
        raise NothingCheckedError(sentence, "`gradscope levels` lists the levels")
    return found
