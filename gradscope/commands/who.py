"""`gradscope who`: who wrote a tensor last, who saved it, who reads it. Loads no torch."""

from __future__ import annotations

import click

from gradscope.commands import options
from gradscope.explain.answers.who import who
from gradscope.explain.evidence.case import Case
from gradscope.render.answers import who_json, who_text

FORMATS = {"text": who_text, "json": who_json}


@click.command("who", context_settings=options.HELP)
@click.argument("tensor", metavar="FILE:LINE|TENSOR")
@options.recording
@click.option("--fmt", type=click.Choice(list(FORMATS)), default="text", show_default=True, help="How to write it.")
@options.quiet
def command(tensor: str, recording: str | None, fmt: str, quiet: bool) -> None:
    """Say who wrote a tensor last, who saved it for the backward, and who reads it.

    TENSOR is a parameter's name or a variable that the source assigns; FILE:LINE means what that line made. Operators
    are looked at that closely in the first steps, and where new ones turn up. Without a RECORDING, the newest in the
    working directory (or $GRADSCOPE_DIR) is read.
    """
    options.check_asked(tensor, recording, "TENSOR")
    with options.open_recording(recording, quiet) as opened:
        options.deliver(FORMATS[fmt](who(Case(opened), tensor), str(opened.path)), None, quiet)
