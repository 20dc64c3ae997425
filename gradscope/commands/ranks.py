"""`gradscope ranks`: which rank is to blame."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import click

from gradscope.commands import options, reporting
from gradscope.commands.progress import waiting
from gradscope.errors import Exit, UnreadableError
from gradscope.model.choice import Choice, codes
from gradscope.model.finding import Finding, Severity
from gradscope.model.report import Report
from gradscope.ranks.core.known import Ranks
from gradscope.ranks.gather import gather
from gradscope.ranks.table import findings
from gradscope.render.rank_formats import RANK_FORMATS, SUFFIXES, RankPage
from gradscope.store.file import show
from gradscope.store.reader import SUFFIX, load
from gradscope.store.started import folders_started_by
from gradscope.view.ranks import table

_RANK = re.compile(r"\.r\d+-of-\d+\.")
_BY_THEMSELVES = 4  # ranks whose recordings are asked each by itself
_NOT_FINITE = Choice(codes("GS730,GS731,GS737,GS820,GS824"))


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

    Takes the recordings of all ranks, a folder of them (default: the working directory), or that of
    the process that started them. Record with `gradscope trace -m torch.distributed.run ...`, or
    GRADSCOPE_TRACE=FOLDER in the environment of the launcher. Recordings of ranks that were killed are
    read as far as they go. Exits with 1 when something as severe as --fail-on is found, 0 otherwise.
    """
    options.check_output(output, force)
    paths = of_ranks(paths_of(files))
    with waiting(quiet) as doing:
        ranks = gather(paths, lambda count: doing(f"reading recording {count} of {len(paths)}"))
        ranks.explained, ranks.failed = explained, failed
    where = str(paths[0].parent if len(paths) > 1 else Path(files[0] if files else "."))
    mistakes: list[Exception] = []
    report = replace(report_of(ranks, Choice(codes(select), codes(ignore)), mistakes), recording=where)
    form = fmt or SUFFIXES.get(Path(output or "").suffix, "text")
    width, coloured = options.page_width(output), options.wants_color(color, output)
    page = RankPage(report, table(ranks.ranks), ranks.folder, width, coloured)
    options.deliver(RANK_FORMATS[form](page), output, quiet)
    if mistakes:
        raise mistakes[0]  # said once the other answers are out
    return Exit.OK if exit_zero else reporting.exit_status(report, fail_on)


def explained(path: str) -> tuple[Finding, ...]:
    """What is found in the recording of one rank about values that are not finite."""
    from gradscope.anomaly import explain  # takes longer to import than many recordings to read

    with load(Path(path)) as recording:
        return explain(recording, _NOT_FINITE).findings


def failed(path: str) -> tuple[Finding, ...]:
    """What is found in the recording of one rank about the exception that ended it."""
    from gradscope.anomaly import explain

    with load(Path(path)) as recording:
        report = explain(recording)
        return report.findings[:1] if recording.failures() and report.unexplained is None else ()


def report_of(ranks: Ranks, choice: Choice, mistakes: list[Exception] | None = None) -> Report:
    """What is wrong with all ranks together; where that is nothing, what is wrong with one of them by itself."""
    found = findings(ranks, choice, mistakes)
    return Report(found, torch=ranks.torch) if found else _alone(ranks, choice, mistakes)


def _alone(ranks: Ranks, choice: Choice, mistakes: list[Exception] | None) -> Report:
    """What the first of a few ranks has found in its own recording, hints left out.

    What is wrong with the first is told without its number, for all may make the same mistake.
    """
    from gradscope.anomaly import explain

    left_out: set[str] = set()
    asked = sorted(ranks.ranks, key=lambda one: one.rank)[:_BY_THEMSELVES]
    for one in asked:
        with load(Path(one.path)) as recording:
            report = explain(recording, choice, mistakes=mistakes)
        left_out |= {*report.left_out}
        told = [each for each in report.findings if each.severity is not Severity.INFO]
        if one is not asked[0]:
            told = [replace(each, message=f"on rank {one.rank}: {each.message}") for each in told]
        if told:
            return Report(tuple(told), torch=ranks.torch, left_out=tuple(sorted(left_out)))
    return Report(torch=ranks.torch, left_out=tuple(sorted(left_out)))


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


def of_ranks(paths: list[Path]) -> list[Path]:
    """The recordings; where none of them is a rank's, those of the ranks that one of them started, the newest."""
    return paths if any(_RANK.search(path.name) for path in paths) else _started_by(paths) or paths


def _started_by(launchers: list[Path]) -> list[Path]:
    """The recordings of processes that one of these started, which stand in a folder of its name and number."""
    started = (sorted(folder.glob(f"*{SUFFIX}")) for folder in folders_started_by(launchers))
    return next((found for found in started if len(found) > 1), [])
