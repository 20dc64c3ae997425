"""`gradscope trace`: run a program unchanged, record it, and say at the end where the recording is."""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gradscope.commands import launching, options
from gradscope.errors import Exit, UsageError
from gradscope.model.detail import Detail
from gradscope.view.words import amount, seconds, size

if TYPE_CHECKING:
    from gradscope.capture import Summary

DETAILS = ("nodes", "ops", "full")


@click.command(cls=launching.ProgramCommand, context_settings=launching.SETTINGS)
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
@click.option("--check-functions", is_flag=True, help="Try the custom Functions that ran, at the end.")
@click.option("--tensors", is_flag=True, help="Store what it takes to run each recorded backward again.")
@click.option("--tensors-limit", metavar="SIZE", help="Store tensors of at most SIZE, such as 500MB. [default: 2GB]")
@click.option("--watch-all", is_flag=True, help="See the operators of every backward, of those that repeat too.")
@click.option("--joint", is_flag=True, help="Record the joint graphs of what torch.compile compiles, too.")
@click.option("--compiled-autograd", is_flag=True, help="Run backward calls under compiled autograd, and record it.")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing at the end.")
@launching.program
def command(
    output: Path | None,
    force: bool,
    detail: str,
    steps: str | None,
    keep_last: int | None,
    max_size: str | None,
    max_overhead: str | None,
    no_explain: bool,
    check_functions: bool,
    tensors: bool,
    tensors_limit: str | None,
    watch_all: bool,
    joint: bool,
    compiled_autograd: bool,
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

    Once a kind of backward call has run the same operators three times, most that repeat it are
    not watched: the same are written for them. Where a hook, a custom Function or a value could
    make a difference, all are watched, and with --watch-all all are anywhere.

    --check-functions runs check-function's trials on the custom Functions that the program ran,
    as `gradscope explain --check-functions` does.

    --tensors stores root gradients, saved tensors and whatever else the operators of a backward
    use, for `gradscope replay --execute`; choose the backwards with --steps.

    --joint records what torch.compile makes of the script's regions, for `gradscope joint`;
    --compiled-autograd runs its backward calls under compiled autograd, for `gradscope compiled`.

    From code: `with gradscope.record("run.gscope"): ...`. For programs whose command line
    cannot be changed: GRADSCOPE_TRACE=run.gscope in the environment (a folder works too).
    """
    from gradscope.torch_internals.installed import require_torch

    if output is not None:
        options.check_folder(str(output))
    require_torch()
    from gradscope import bounds as limits_given
    from gradscope import capture

    what = launching.chosen(module, code, program)
    path = output or capture.default_path(what.title)
    say = _speaker(path, quiet, no_explain, check_functions)
    bounds = limits_given.window(steps, keep_last), limits_given.limits(max_size, max_overhead)
    limit = limits_given.tensor_limit(tensors_limit) if tensors or tensors_limit else None
    record = partial(capture.Recorder, watch_all=watch_all, joint=joint, compiled_autograd=compiled_autograd)
    recorder = record(path, Detail(detail), *bounds, tensors=limit, overwrite=force, keep_empty=output is not None)
    return capture.run_program(what, recorder, say)


def _speaker(path: Path, quiet: bool, no_explain: bool, check_functions: bool) -> Callable[[Summary], None]:
    """What is said at the end; the program may change its directory until then."""
    if check_functions and (no_explain or quiet):
        told = "--check-functions says at the end what it found, and that is switched off"
        raise UsageError(told, "leave -q and --no-explain out")
    explaining = _explain_nothing if no_explain else _explain_elsewhere if check_functions else _explain
    return _say_nothing if quiet else partial(_say, explained=partial(explaining, path.absolute()))


def _say_nothing(summary: Summary) -> None:
    pass


def _say(summary: Summary, explained: Callable[[], bool]) -> None:
    sys.stdout.flush()
    found = summary.size > 0 and explained()
    if summary.is_empty and not summary.size and summary.failure is None:
        options.talk("nothing was recorded: the program made no node, and ran no backward")
        return
    counts = f"{amount(summary.backwards, 'backward call')}, {amount(summary.nodes, 'node')}"
    options.talk(f"{counts}, {size(summary.size)}, {seconds(summary.seconds)} -> {summary.path}")
    path = shlex.quote(str(summary.path))  # what is printed can be typed
    for lack in summary.lacks:
        options.talk(lack.sentence)
    for reason, count in summary.dropped.items():
        options.talk(f"left out: {count:,} {reason}")
    if summary.failure:
        options.talk(f"the recording stopped early: {summary.failure}")
    if summary.faults:
        faults = amount(sum(summary.faults.values()), "fault")
        off = f" ({', '.join(summary.switched_off)} switched off)" if summary.switched_off else ""
        options.talk(f"{faults} of its own while recording{off}, see: gradscope info {path}")
    if not summary.size:  # the file, or its directory, is gone
        return
    following = "explain" if found else "graph" if summary.backwards else "info"
    options.talk(f"next: gradscope {following} {path}")


def _explain_nothing(path: Path) -> bool:
    return False


def _explain_elsewhere(path: Path) -> bool:
    """Explain in a process of its own, in which the program's Functions may be run again; says whether it found any."""
    command = [sys.executable, "-m", "gradscope", "explain", "--quiet", "--check-functions", "--fail-on", "warning"]
    done = subprocess.run([*command, str(path)], capture_output=True, text=True, check=False)
    click.echo(done.stdout + done.stderr, err=True, nl=False)  # the program may have put another stderr in place
    return done.returncode == Exit.FINDINGS


def _explain(path: Path) -> bool:
    """Print what went wrong, and answer whether anything did.

    The program's own status stays: a recording that cannot be explained is no failure.
    """
    from gradscope.anomaly import explain
    from gradscope.errors import GradscopeError
    from gradscope.render.report_text import render
    from gradscope.store.reader import load

    try:
        with load(path) as recording:
            report = explain(recording)
    except GradscopeError as error:
        options.talk(f"nothing is explained: {error.sentence}")
        return False
    except Exception as error:  # ours: it must not look like the program's
        options.talk(f"nothing is explained, because of a bug in gradscope ({type(error).__name__}: {error})")
        return False
    if report.findings:
        click.echo(render(report), err=True)
    elif report.gap is not None:
        options.talk(report.gap)
    return bool(report.findings)
