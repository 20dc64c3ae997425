"""`gradscope graph`: draw the graph of one recorded backward call."""

from __future__ import annotations

import click

from gradscope.commands import options
from gradscope.render.formats import FORMATS, choose
from gradscope.view.ordered import ordered
from gradscope.view.scene import Scene

FORMAT_HELP = "; ".join(f"{format.name}: {format.help}" for format in FORMATS.values())


@click.command(context_settings=options.HELP)
@options.recording
@click.option("--fmt", type=click.Choice(list(FORMATS)), help=f"{FORMAT_HELP}. Default: what -o ends in, else text.")
@options.backward
@click.option("--depth", type=click.IntRange(min=1), help="How many levels of modules to open; default: what fits.")
@options.output
@options.force
@options.color
@options.quiet
def command(
    recording: str | None,
    fmt: str | None,
    backward: int | None,
    depth: int | None,
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
        scene = Scene(
            graph=ordered(opened.graph(backward)),
            run=opened.run(),
            recording=str(opened.path),
            depth=depth,
            width=options.page_width(output),
            color=options.wants_color(color, output),
        )
        options.deliver(format.render(scene), output, quiet)
