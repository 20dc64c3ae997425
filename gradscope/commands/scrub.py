"""`gradscope scrub`: a copy of a recording that can be shared."""

from __future__ import annotations

from pathlib import Path

import click

from gradscope.commands import options
from gradscope.errors import UsageError
from gradscope.model.printable import printable
from gradscope.store.reader import SUFFIX, Recording

SCRUBBED = f".scrubbed{SUFFIX}"


@click.command(context_settings=options.HELP)
@options.recording
@click.option("-o", "--output", metavar="FILE", help="Write the copy to FILE. [default: NAME.scrubbed.gscope]")
@options.force
@options.quiet
def command(recording: str | None, output: str | None, force: bool, quiet: bool) -> None:
    """Copy a recording without sources, paths, arguments and environment, before it is shared.

    Files are called file-1.py, file-2.py and so on. Names in the program stay: functions, classes, modules,
    parameters.

    Without a RECORDING, the newest in the working directory (or $GRADSCOPE_DIR) is read.
    """
    with options.open_recording(recording, quiet) as opened:
        path = _output(opened, output)
        options.check_output(str(path), force)
        opened.scrub(path)
    if not quiet:
        options.talk(f"wrote {path}: look at it before you share it; names in your program are in it")


def _output(opened: Recording, wanted: str | None) -> Path:
    """Where the copy goes: never over the recording itself."""
    path = opened.path.with_name(opened.path.stem + SCRUBBED) if wanted is None else Path(wanted)
    if path.exists() and path.samefile(opened.path):
        raise UsageError(f"{printable(str(path))} is the recording itself", "name another file with -o")
    if not path.parent.is_dir() or path.is_dir():
        raise UsageError(f"{printable(str(path))} cannot be written", "name a file in a directory that exists")
    return path
