"""`gradscope ranks`: which rank is to blame."""

from __future__ import annotations

from pathlib import Path

import click

from gradscope.commands import options, reporting
from gradscope.commands.progress import waiting
from gradscope.errors import Exit, UnreadableError
from gradscope.model.choice import Choice, codes
from gradscope.model.report import Report
from gradscope.ranks.gather import gather
from gradscope.ranks.table import findings
from gradscope.render.rank_formats import RANK_FORMATS, SUFFIXES, RankPage
from gradscope.store.file import show
from gradscope.store.reader import SUFFIX
from gradscope.view.ranks import table


@click.command("ranks", context_settings=options.HELP)
@click.argument("files", nargs=-1, metavar="[FILES|FOLDER]...")
@reporting.select
@reporting.ignore
@click.option(
    "--fmt", type=click.Choice(list(RANK_FORMATS)), help="How to write it. [default: what -o ends in, else text]"
)
@options.output
@options.force
@reporting.fail_on
@reporting.exit_zero
@options.color
@options.quiet
def command(
    files: tuple[str, ...],
    select: str,
    ignore: str,
    fmt: str | None,
    output: str | None,
    force: bool,
    fail_on: str,
    exit_zero: bool,
    color: str,
    quiet: bool,
) -> int:
    """Hold the ranks of a run against each other: a table of them, and which one is to blame.

    Takes the recordings of all ranks, or a folder of them (default: the working directory). Record
    with `gradscope trace -m torch.distributed.run ...`, or GRADSCOPE_TRACE=FOLDER in the environment
    of the launcher. Recordings of ranks that were killed are read as far as they go. Exits
    with 1 when something as severe as --fail-on is found, 0 otherwise.
    """
    options.check_output(output, force)
    paths = paths_of(files)
    with waiting(quiet) as doing:
        ranks = gather(paths, lambda count: doing(f"reading recording {count} of {len(paths)}"))
    where = str(Path(files[0] if files else "."))
    report = Report(findings(ranks, Choice(codes(select), codes(ignore))), torch=ranks.torch, recording=where)
    form = fmt or SUFFIXES.get(Path(output or "").suffix, "text")
    width, coloured = options.page_width(output), options.wants_color(color, output)
    page = RankPage(report, table(ranks.ranks), ranks.folder, width, coloured)
    options.deliver(RANK_FORMATS[form](page), output, quiet)
    return Exit.OK if exit_zero else reporting.exit_status(report, fail_on)


def paths_of(names: tuple[str, ...]) -> list[Path]:
    """The recordings that are meant. Raises UnreadableError when there is none."""
    found: list[Path] = []
    for name in names or (".",):
        path = Path(name)
        found += sorted(path.glob(f"*{SUFFIX}")) if path.is_dir() else [path]
    if not found:
        sentence = f"there is no {SUFFIX} file in {', '.join(show(Path(name)) for name in names or ('.',))}"
        raise UnreadableError(sentence, "record ranks with GRADSCOPE_TRACE=FOLDER in the launcher's environment")
    return found
