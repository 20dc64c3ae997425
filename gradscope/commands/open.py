"""`gradscope open`: build the page of a recorded backward and show it in the browser."""

from __future__ import annotations

import tempfile
import webbrowser
from pathlib import Path

import click

from gradscope.commands import options, pages
from gradscope.commands.progress import waiting
from gradscope.errors import UsageError
from gradscope.render.html import page
from gradscope.store.reader import Recording


@click.command("open", context_settings=options.HELP)
@options.recording
@options.backward
@pages.others
@pages.source
@click.option("-o", "--output", metavar="FILE", help="Write the page to FILE; default: a new temporary file.")
@options.force
@options.quiet
def command(
    recording: str | None,
    backward: int | None,
    others: int,
    source: bool,
    output: str | None,
    force: bool,
    quiet: bool,
) -> None:
    """Show a recorded backward as a page in the browser. The page is one file that works offline.

    Without a RECORDING, the newest in the working directory (or $GRADSCOPE_DIR) is read. $BROWSER names the browser.
    """
    if output == "-":
        raise UsageError("a browser cannot open standard output", "`gradscope graph --fmt html` writes there")
    options.check_output(output, force)
    with options.open_recording(recording, quiet) as opened:
        with waiting(quiet) as doing:
            text = page(pages.gather(opened, backward, others, source, doing))
        path = Path(output) if output is not None else _temporary(opened)
        options.deliver(text, str(path), quiet)
    if not _show(path):
        options.talk(f"no browser could be started: open {path.resolve()} in one")


def _temporary(opened: Recording) -> Path:
    """A new file that only its user may read. It stays, because the browser reads it when it likes."""
    with tempfile.NamedTemporaryFile(prefix=f"{opened.path.stem}.", suffix=".html", delete=False) as file:
        return Path(file.name)


def _show(path: Path) -> bool:
    try:
        return webbrowser.open(path.resolve().as_uri())
    except webbrowser.Error:
        return False
