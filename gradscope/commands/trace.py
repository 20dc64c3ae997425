"""`gradscope trace`: run a program unchanged, record it, and say at the end where the recording is."""

from __future__ import annotations

import shlex
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gradscope.commands import options
from gradscope.errors import UsageError
from gradscope.view.words import amount, seconds, size

if TYPE_CHECKING:
    from gradscope.capture import Summary
    from gradscope.probes.program import Program

DETAILS = ("nodes", "ops", "full")
_WITH_VALUE = ("-o", "--output", "--detail", "--steps", "--keep-last", "--max-size", "--max-overhead")


class _Command(click.Command):
    """A command whose options end where Python's do: what follows `-m MODULE` or `-c CODE` is the program's."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse, with a `--` after the program."""
        at = 0
        while at < len(args) and args[at].startswith("-") and args[at] != "--":
            if args[at].startswith(("-m", "-c")):
                at += 2 if len(args[at]) == 2 else 1
                args = [*args[:at], "--", *args[at:]]
                break
            at += 2 if args[at] in _WITH_VALUE else 1
        return super().parse_args(ctx, args)


@click.command(
    cls=_Command, context_settings={**options.HELP, "ignore_unknown_options": True, "allow_interspersed_args": False}
)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="Write the recording here. [default: SCRIPT.PID.gscope]"
)
@click.option("-f", "--force", is_flag=True, help="Replace an existing recording.")
@click.option("--detail", type=click.Choice(DETAILS), default="ops", show_default=True, help="How much to record.")
@click.option(
    "--steps", metavar="A:B", help="Record the steps from A to before B only; each ends with a backward call."
)
@click.option("--keep-last", metavar="N", type=int, help="Keep the last N steps only, as a flight recorder does.")
@click.option("--max-size", metavar="SIZE", help="Record no more steps once the file is nearly SIZE, e.g. 500MB.")
@click.option(
    "--max-overhead",
    metavar="SHARE",
    help="Leave steps out so that recording adds at most SHARE, e.g. 20%.",
)
@click.option("--no-explain", is_flag=True, help="Do not look for what went wrong.")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing at the end.")
@click.option("-m", "module", metavar="MODULE", help="Run a module, as python -m does.")
@click.option("-c", "code", metavar="CODE", help="Run a piece of code, as python -c does.")
@click.argument("program", nargs=-1, type=click.UNPROCESSED, metavar="[SCRIPT] [ARGS]...")
def command(
    output: Path | None,
    force: bool,
    detail: str,
    steps: str | None,
    keep_last: int | None,
    max_size: str | None,
    max_overhead: str | None,
    no_explain: bool,
    quiet: bool,
    module: str | None,
    code: str | None,
    program: tuple[str, ...],
) -> int:
    """Run SCRIPT exactly as Python would, and record what autograd does.

    The script's output, exit status and results stay as they are. gradscope's own words go to standard error.

    \b
    --detail nodes  graphs, stacks, hooks, backward calls
    --detail ops    and operators, in-place writes, tensor versions
    --detail full   and times, execution order and gradient statistics of every node

    From code: `with gradscope.record("run.gscope"): ...`. For programs whose command line
    cannot be changed: GRADSCOPE_TRACE=run.gscope in the environment (a folder works too).
    """
    if module is not None and code is not None:
        raise UsageError("-m and -c do not go together", "give one of them, or a script")
    if module is None and code is None and not program:
        raise UsageError(
            "there is nothing to run", "gradscope trace [OPTIONS] SCRIPT ARGS..., or -m MODULE, or -c CODE"
        )
    from gradscope.probes import seams

    seams.require(detail)  # before the probes, whose import needs some of them
    from gradscope import capture

    what = _program(module, code, program)
    path = output or capture.default_path(what.title)
    bounds = capture.window(steps, keep_last), capture.limits(max_size, max_overhead)
    recorder = capture.Recorder(path, capture.Detail(detail), *bounds, overwrite=force)
    explained = None if no_explain else path.absolute()  # the program may change its directory
    say = _say_nothing if quiet else partial(_say, explained=explained)
    return capture.run_program(what, recorder, say)


def _program(module: str | None, code: str | None, arguments: tuple[str, ...]) -> Program:
    from gradscope.probes import program

    if module is not None:
        return program.module(module, arguments)
    if code is not None:
        return program.command(code, arguments)
    if arguments[0].startswith("-"):
        raise UsageError(f"there is no option {arguments[0]}", "--help lists them; the script's own follow its name")
    return program.script(arguments[0], arguments[1:])


def _say_nothing(summary: Summary) -> None:
    pass


def _say(summary: Summary, explained: Path | None) -> None:
    sys.stdout.flush()
    if explained is not None and summary.size:
        _explain(explained)
    counts = f"{amount(summary.backwards, 'backward call')}, {amount(summary.nodes, 'node')}"
    options.talk(f"{counts}, {size(summary.size)}, {seconds(summary.seconds)} -> {summary.path}")
    path = shlex.quote(str(summary.path))  # what is printed can be typed
    for reason, count in summary.dropped.items():
        options.talk(f"left out: {count:,} {reason}")
    if summary.failure:
        options.talk(f"the recording stopped early: {summary.failure}")
    if summary.faults:
        faults = amount(sum(summary.faults.values()), "fault")
        options.talk(f"{faults} of its own while recording, see: gradscope info {path}")
    if summary.size:  # else the file, or its directory, is gone
        options.talk(f"next: gradscope {'graph' if summary.backwards else 'info'} {path}")


def _explain(path: Path) -> None:
    """Print what went wrong. The program's own status stays: a recording that cannot be explained is no failure."""
    from gradscope.anomaly import explain
    from gradscope.errors import GradscopeError
    from gradscope.render.report_text import render
    from gradscope.store.reader import load

    try:
        with load(path) as recording:
            report = explain(recording)
    except GradscopeError as error:
        options.talk(f"nothing is explained: {error.sentence}")
        return
    if report.findings:
        click.echo(render(report), err=True)
