"""`gradscope export`: hand recordings over to other tools."""

from __future__ import annotations

import gc
from pathlib import Path

import click

from gradscope.commands import options
from gradscope.commands.progress import waiting
from gradscope.commands.ranks import paths_of
from gradscope.errors import UsageError
from gradscope.exports import parquet, perfetto
from gradscope.exports.perfetto import Process
from gradscope.exports.slices import Slices
from gradscope.model.printable import printable
from gradscope.store.file import damage_is_one_sentence
from gradscope.store.reader import Recording, load, newest
from gradscope.view.words import amount

TARGETS = ("perfetto", "parquet")


@click.command("export", context_settings=options.HELP)
@click.argument("files", nargs=-1, metavar="[FILES|FOLDER]...")
@click.option("--to", "target", type=click.Choice(TARGETS), required=True, help="For which tool.")
@click.option(
    "-o", "--output", metavar="PATH", help="Write here. [default: RECORDING.pftrace, or a folder RECORDING.parquet]"
)
@options.force
@options.quiet
def command(files: tuple[str, ...], target: str, output: str | None, force: bool, quiet: bool) -> None:
    """Hand recordings over to other tools; several, or a folder of them, are the ranks of one run.

    \b
    perfetto  a trace for the Perfetto UI (ui.perfetto.dev): a process for each rank, a track for each thread, with
              steps, backward calls, nodes, operators, collectives, and flows from operators to the nodes they made
    parquet   all operators as a folder partitioned by rank, for DuckDB, polars, pandas, Spark and Ray; needs pyarrow

    Operators have no times of their own: in a trace they are spread evenly over the stretch in which they ran. Nodes
    have measured times in recordings of `--detail full`.
    """
    paths = paths_of(files) if files else [newest()]
    suffix = ".pftrace" if target == "perfetto" else ".parquet"
    path = Path(output or f"{paths[0].stem if len(paths) == 1 else 'ranks'}{suffix}")
    if path.exists() and not force:
        raise UsageError(f"{printable(str(path))} exists", "name another, or replace it with --force")
    with waiting(quiet) as doing:
        count = 0
        for place, one in enumerate(paths):
            doing(f"exporting recording {place + 1} of {len(paths)}")
            with load(one) as recording, damage_is_one_sentence(one):
                recording.hold()
                count += (_perfetto if target == "perfetto" else _parquet)(recording, path, place)
    if not quiet:
        options.talk(f"wrote {amount(count, 'slice' if target == 'perfetto' else 'row')} to {path}")


def _perfetto(recording: Recording, path: Path, place: int) -> int:
    run = recording.run()
    number = f"rank {run.rank}: " if run.rank is not None else ""
    process = Process(place, run.pid, f"{number}{run.program or recording.path.stem}")
    gc.disable()  # millions of slices live until they are written, and the collector would look at them all the time
    try:
        with path.open("ab" if place else "wb") as stream:
            return perfetto.write(stream, process, Slices(recording))
    except OSError as error:
        raise UsageError(f"{printable(str(path))} cannot be written: {error.strerror}") from error
    finally:
        gc.enable()


def _parquet(recording: Recording, path: Path, place: int) -> int:
    parquet.require_pyarrow()
    rank = recording.run().rank
    try:
        return parquet.write(recording, path, place if rank is None else rank)
    except OSError as error:
        raise UsageError(f"{printable(str(path))} cannot be written: {error}") from error
