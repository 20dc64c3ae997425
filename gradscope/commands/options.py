"""What the reading commands share: which recording, where the result goes, colour."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from gradscope.errors import GradscopeError, UsageError
from gradscope.model.printable import printable
from gradscope.render.terminal import encoded
from gradscope.store.reader import Recording, load, newest, started_as

PIPE_WIDTH = 200
WIDEST_TEXT = 120
Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

_RANK = "gradscope.rank"  # in the context's meta


def _keep_rank(context: click.Context, parameter: click.Parameter, value: int | None) -> None:
    context.meta[_RANK] = value


rank: Decorator = click.option(
    "--rank",
    type=click.IntRange(min=0),
    expose_value=False,
    callback=_keep_rank,
    metavar="N",
    help="In a folder with the recordings of several ranks, or of what started them, read that of rank N.",
)


def recording(function: Callable[..., Any]) -> Callable[..., Any]:
    """The recording to read: a file, or a folder of them; and `--rank`."""
    return click.argument("recording", required=False, metavar="[RECORDING]")(rank(function))


output: Decorator = click.option("-o", "--output", metavar="FILE", help="Write to FILE; - is standard output.")
force: Decorator = click.option("-f", "--force", is_flag=True, help="Replace FILE when it exists.")
quiet: Decorator = click.option("-q", "--quiet", is_flag=True, help="Say nothing on standard error.")
WHETHER_TO_COLOR = ("auto", "always", "never")
color: Decorator = click.option(
    "--color",
    type=click.Choice(WHETHER_TO_COLOR),
    default="auto",
    show_default=True,
    help="Colour the text; auto: on a terminal, unless NO_COLOR is set.",
)


def backward_number(context: click.Context, parameter: click.Parameter, value: str) -> int | None:
    """A backward call's number; None for the last."""
    if value == "last":
        return None
    if not (value.isascii() and value.isdigit()) or len(value) > 18:
        raise UsageError(f"--backward takes a number from 0, or last, not {value!r}", "`gradscope info` lists them")
    return int(value)


backward: Decorator = click.option(
    "--backward",
    default="last",
    show_default=True,
    metavar="N|last",
    callback=backward_number,
    help="Which backward call, counted from 0.",
)

HELP = {"help_option_names": ["-h", "--help"]}  # in each command: click keeps what the first context asks for


def check_asked(asked: str, recording: str | None, what: str) -> None:
    """Refuse a recording in the place of the name that is asked about."""
    if recording is None and Path(asked).is_file():
        command = click.get_current_context().command.name
        raise UsageError(f"{what} is missing", f"gradscope {command} {what} {printable(asked)}")


def open_recording(name: str | None, quiet: bool) -> Recording:
    """Open the recording that was named, or the newest, and say which."""
    rank = _wanted_rank()
    chosen = rank is not None or name is None or Path(name).is_dir()
    recording = load(chosen_recording(name, rank) if chosen else name)
    if not quiet:
        if chosen:
            of_rank = "" if rank is None else f" of rank {rank}"
            talk(f"reading {recording.path}, the newest recording{of_rank}")
        if recording.recovered:
            talk("the run was killed or still goes on; this is everything up to its last commit")
        for lack in recording.run().lacks:
            talk(f"in this recording {lack.sentence}")
    return recording


def chosen_recording(name: str | None, rank: int | None) -> Path:
    """The newest recording in a folder; of a rank, also where the recording is named of what started it."""
    if name is None or Path(name).is_dir():
        return newest(None if name is None else Path(name), rank)
    started = [] if rank is None else started_as([Path(name)], rank)
    if not started:
        raise UsageError(f"--rank chooses from a folder, and {printable(name)} is not one")
    return max(started)


def _wanted_rank() -> int | None:
    """What `--rank` asks for."""
    context = click.get_current_context(silent=True)
    found: int | None = None if context is None else context.meta.get(_RANK)
    return found


def complain(error: GradscopeError) -> None:
    """Say what is wrong, and what would be right."""
    click.echo(f"gradscope: {error.sentence}" + (f"\n  hint: {error.hint}" if error.hint else ""), err=True)


def talk(sentence: str) -> None:
    """Say something that is not the result."""
    said = f"gradscope: {printable(sentence)}\n"
    click.echo(encoded(said, getattr(sys.stderr, "encoding", None) or "utf-8"), err=True, nl=False)


def wants_color(choice: str, output: str | None) -> bool:
    """Whether to colour what goes to `output`."""
    if choice == "auto":
        return to_terminal(output) and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return choice == "always"


def page_width(output: str | None) -> int:
    """As wide as the terminal, or wide enough for files and pipes."""
    import shutil

    return shutil.get_terminal_size().columns if to_terminal(output) else PIPE_WIDTH


def text_width(is_terminal: bool) -> int | None:
    """As wide as the terminal, and no wider than is pleasant to read; None for files and pipes."""
    import shutil

    return min(shutil.get_terminal_size().columns, WIDEST_TEXT) if is_terminal else None


def to_terminal(output: str | None) -> bool:
    """Whether the result is shown on a terminal."""
    return (output is None or output == "-") and sys.stdout.isatty()


def check_output(output: str | None, force: bool) -> None:
    """Refuse early, before any work, a folder that is not there, and to replace a file that was not offered."""
    if output is None or output == "-":
        return
    check_folder(output)
    if Path(output).is_dir():
        raise UsageError(f"{printable(output)} is a folder", "name a file in it")
    if not force and Path(output).is_file():
        raise UsageError(f"{printable(output)} exists", "name another file, or replace it with --force")


def check_folder(output: str) -> None:
    """Refuse early a folder that is not there, and one in the place of a file: `recordings/`."""
    if output.endswith(("/", os.sep)):
        raise UsageError(f"{printable(output)} names a folder", "name a file in it")
    folder = Path(output).parent
    if not folder.is_dir():
        what = "is no folder" if folder.exists() else "does not exist"
        raise UsageError(
            f"the folder {printable(str(folder))} {what}", f"mkdir -p {shlex.quote(printable(str(folder)))}"
        )


def deliver(result: str | bytes, output: str | None, quiet: bool) -> None:
    """Write the result to standard output or to a file."""
    if output is None or output == "-":
        if isinstance(result, bytes) and sys.stdout.isatty():
            raise UsageError("this format is not for terminals", "name a file with -o, or send it on through a pipe")
        # Bytes, because a terminal's or pipe's encoding may not have the characters of a name.
        encoding = sys.stdout.encoding or "utf-8"
        click.echo(encoded(result, encoding) if isinstance(result, str) else result, nl=False)
        return
    try:
        Path(output).write_bytes(result.encode("utf-8", "backslashreplace") if isinstance(result, str) else result)
    except OSError as error:
        raise UsageError(f"{printable(output)} cannot be written: {error.strerror}") from error
    if not quiet:
        talk(f"wrote {output}")
