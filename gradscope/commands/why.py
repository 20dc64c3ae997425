"""`gradscope why`: the way from the loss to a parameter, or the place where it is cut. Loads no torch."""

from __future__ import annotations

import click

from gradscope.commands import options
from gradscope.explain.answers.why import why
from gradscope.explain.evidence.case import Case
from gradscope.render.answers import why_json, why_text

FORMATS = {"text": why_text, "json": why_json}


@click.command("why", context_settings=options.HELP)
@click.argument("parameter", metavar="PARAM")
@options.recording
@click.option("--fmt", type=click.Choice(list(FORMATS)), default="text", show_default=True, help="How to write it.")
@options.quiet
def command(parameter: str, recording: str | None, fmt: str, quiet: bool) -> None:
    """Show the way from the loss to a parameter, or the line where it is cut.

    PARAM is the parameter's qualified name (encoder.weight), or the end of it when that says which. Without a
    RECORDING, the newest in the working directory (or $GRADSCOPE_DIR) is read.
    """
    options.check_asked(parameter, recording, "PARAM")
    with options.open_recording(recording, quiet) as opened:
        options.deliver(FORMATS[fmt](why(Case(opened), parameter), str(opened.path)), None, quiet)
