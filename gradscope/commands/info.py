"""`gradscope info`: say what a recording holds."""

from __future__ import annotations

import click

from gradscope.commands import options
from gradscope.render.info import to_json, to_text
from gradscope.store.reader import Recording
from gradscope.view.contents import MOST_ROWS, Contents

FORMATS = ("text", "json")


@click.command(context_settings=options.HELP)
@options.recording
@click.option("--fmt", type=click.Choice(FORMATS), default="text", show_default=True, help="How to write it.")
@options.quiet
def command(recording: str | None, fmt: str, quiet: bool) -> None:
    """Say what a recording holds: the run, its backward calls, how it ended, what was dropped.

    Without a RECORDING, the newest in the working directory (or $GRADSCOPE_DIR) is read.
    """
    with options.open_recording(recording, quiet) as opened:
        found = _contents(opened)
        said = to_json(found) if fmt == "json" else to_text(found, options.page_width(None))
        options.deliver(said, None, quiet)


def _contents(opened: Recording) -> Contents:
    census = opened.census()
    calls = opened.calls(alike=census.backwards > MOST_ROWS)
    return Contents(str(opened.path), opened.recovered, opened.run(), census, calls, opened.faults())
