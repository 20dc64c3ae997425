"""`gradscope trace`: run a program unchanged, record it, and say at the end where the recording is."""

from __future__ import annotations

import atexit
import contextlib
import importlib
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gradscope.arming.asking_signal import ignore_until_armed
from gradscope.arming.plan import Plan
from gradscope.channel import address
from gradscope.commands import findings, launching, options
from gradscope.errors import Exit, GradscopeError, UnreadableError, UsageError
from gradscope.launch.handing_on import Children
from gradscope.launch.paths import SUFFIX, default_path
from gradscope.launch.torch_import import OnceTorchIsThere
from gradscope.model.family import OF_PARENTS as WHICH
from gradscope.model.family import Family
from gradscope.model.trigger import MOST, TRIGGERS
from gradscope.store.output import check, try_to_write
from gradscope.store.reader import load
from gradscope.torch_internals.installed import require_installed_torch
from gradscope.view.words import amount, seconds, size

if TYPE_CHECKING:
    from gradscope.arming.armed import Armed
    from gradscope.arming.ring import Ring
    from gradscope.arming.rotation import Rotation
    from gradscope.capture import Recorder, Summary
    from gradscope.launch.program import Program

_KINDS = [kind.name if kind.factor is None else f"{kind.name}[={kind.factor:g}]" for kind in TRIGGERS]
DETAILS = ("nodes", "ops", "full")


@click.command(cls=launching.ProgramCommand, context_settings=launching.SETTINGS)
@click.option("-o", "--output", type=click.Path(), help="Write the recording here. [default: SCRIPT.PID.gscope]")
@click.option("-f", "--force", is_flag=True, help="Replace an existing recording.")
@click.option("--detail", type=click.Choice(DETAILS), default="ops", show_default=True, help="How much to record.")
@click.option(
    "--steps", metavar="A:B", help="Record the steps from A to before B only; each ends with a backward call."
)
@click.option("--keep-last", metavar="N", type=int, help="Keep the last N steps only, as a flight recorder does.")
@click.option("--max-size", metavar="SIZE", help="Keep the file under SIZE, e.g. 500MB: the oldest steps go.")
@click.option(
    "--rotate", metavar="N", type=click.IntRange(min=1), help="Begin a new file each N steps, and keep the last ones."
)
@click.option(
    "--rotate-keep",
    metavar="K",
    type=click.IntRange(min=1),
    default=5,
    show_default=True,
    help="How many files --rotate keeps.",
)
@click.option(
    "--max-overhead",
    metavar="SHARE",
    help="Leave steps out so that recording adds at most SHARE, e.g. 20%.",
)
@click.option(
    "--arm",
    metavar="[=SIGNAL]",
    help="Record nothing until asked: by `gradscope record PID`, or by a signal such as USR1.",
)
@click.option(
    "--trigger",
    "triggers",
    multiple=True,
    metavar="KIND[=K]",
    help=f"Record the next steps (--arm), or keep the last ones (--keep-last), by itself: {', '.join(_KINDS)}.",
)
@click.option(
    "--trigger-limit",
    type=click.IntRange(min=1),
    default=MOST,
    show_default=True,
    metavar="N",
    help="Do so N times at most.",
)
@click.option("--no-explain", is_flag=True, help="Do not look for what went wrong.")
@click.option("--check-functions", is_flag=True, help="Try the custom Functions that ran, at the end.")
@click.option("--tensors", is_flag=True, help="Store what it takes to run each recorded backward again.")
@click.option("--tensors-limit", metavar="SIZE", help="Store tensors of at most SIZE, such as 500MB. [default: 2GB]")
@click.option("--watch-all", is_flag=True, help="See the operators of every backward, of those that repeat too.")
@click.option("--joint", is_flag=True, help="Record the joint graphs of what torch.compile compiles, too.")
@click.option("--compiled-autograd", is_flag=True, help="Run backward calls under compiled autograd, and record it.")
@click.option(
    "--children/--no-children",
    "children",
    default=None,
    help="Record all Python processes that the program starts, or none. [default: multiprocessing and ranks]",
)
@click.option("-q", "--quiet", is_flag=True, help="Say nothing at the end.")
@launching.program
def command(
    output: str | None,
    force: bool,
    no_explain: bool,
    check_functions: bool,
    children: bool | None,
    quiet: bool,
    module: str | None,
    code: str | None,
    program: tuple[str, ...],
    **recorded: Any,
) -> int:
    """Run SCRIPT exactly as Python would, and record what autograd does.

    The script's output, exit status and results stay; gradscope's own words go to standard error.

    \b
    --detail nodes  graphs, stacks, hooks, backward calls
    --detail ops    and operators, in-place writes, tensor versions
    --detail full   and times, execution order and gradient statistics of every node

    Most backward calls that repeat others are not watched: the same is written for them. Where a
    hook, a custom Function or a value could make a difference all are, and with --watch-all always.

    --check-functions runs check-function's trials on the custom Functions that the program ran.

    --tensors stores what the operators of a backward use, for `gradscope replay --execute`.

    --joint and --compiled-autograd record what the compilers make of the script, for
    `gradscope joint` and `gradscope compiled`. --arm keeps all of this out of a long run until
    `gradscope record PID` asks for its next steps.

    Processes of multiprocessing and ranks get recordings of their own, in a folder named after this
    one; with --children any Python that the script starts does.

    From code: `with gradscope.record("run.gscope"): ...`. For programs whose command line
    cannot be changed: GRADSCOPE_TRACE=run.gscope in the environment (or FOLDER, FOLDER/:arm).
    """
    last = contextlib.ExitStack()
    atexit.register(last.close)  # before torch is there: runs when multiprocessing has waited for its processes
    if output is not None:
        options.check_folder(output)
    plan = Plan.read(recorded)
    if plan.signal is not None:
        ignore_until_armed(plan.signal)
    require_installed_torch()
    what = launching.chosen(module, code, program)
    path = default_path(what.title) if output is None else Path(output)
    speak = partial(_speaker, quiet=quiet, no_explain=no_explain, check_functions=check_functions)
    told_by = speak(path)  # which refuses, before there is a file
    if not plan.armed:
        check(path, force or plan.rotate is not None)
        try_to_write(path)
    family = _family(recorded, path, what.title, children)
    make = partial(_make, plan, path.absolute(), overwrite=force, keep_empty=output is not None)
    waiting = OnceTorchIsThere(make, partial(_join, family))
    say = partial(_sayer, waiting, quiet, told_by, speak)
    return _run(what, waiting, family, last, partial(_say_it_all, say, family, quiet))


def _make(plan: Plan, path: Path, **how: Any) -> Any:
    """What records, when the program has torch. Where this torch lacks what is needed, the program ends here."""
    from gradscope.arming.recorder import recorder

    importlib.import_module("gradscope.children")  # forked children begin again what their parent does
    try:
        return recorder(plan, path, **how)
    except GradscopeError as error:
        options.complain(error)
        sys.exit(error.exit_status)


def _join(family: Family) -> None:
    from gradscope.children import join_forked

    join_forked(family)


def _run(what: Program, waiting: Any, family: Family, last: contextlib.ExitStack, say: Callable[[Any], None]) -> int:
    from gradscope.launch.program import INTERRUPTED, remember_interrupt
    from gradscope.launch.recorded import run_program

    handing_on = Children(family, partial(_join, family))

    def finished(told: Any) -> None:
        handing_on.restore()
        last.callback(say, told)

    handing_on.put()
    status = run_program(what, waiting, finished)
    if status == INTERRUPTED:
        last.callback(remember_interrupt)  # runs after what is said, which comes later to the stack
    return status


def _family(settings: dict[str, Any], path: Path, title: str, children: bool | None) -> Family:
    name, pid = path.name.removesuffix(SUFFIX), os.getpid()
    folder = path.absolute().with_name(name if name.endswith(f".{pid}") else f"{name}.{pid}")
    marks = address.folder() / f"{pid}.unrecorded"
    with contextlib.suppress(OSError):
        marks.unlink(missing_ok=True)  # of a process that had this number before
    which = WHICH[0] if children is None else WHICH[1] if children else WHICH[2]
    return Family(str(folder), title, settings, str(marks), which)


def _sayer(
    waiting: OnceTorchIsThere[Any], quiet: bool, say: Callable[[Summary], None], speak: Callable[[Path], Any]
) -> Callable[[Any], None]:
    """What says at the end what came of it."""
    found: Any = waiting.found
    if found is None:
        return partial(_say_there_was_no_torch, quiet)
    from gradscope.arming.armed import Armed
    from gradscope.arming.rotation import Rotation

    if isinstance(found, Armed):
        return partial(_say_what_was_asked, found, quiet)
    if isinstance(found, Rotation):
        return partial(_say_what_was_rotated, found, quiet, speak)
    return partial(_say_what_was_kept, found, quiet, say)


def _say_there_was_no_torch(quiet: bool, told: None) -> None:
    sys.stdout.flush()
    if not quiet:
        options.talk("nothing was recorded: the program did not import torch")


def _say_it_all(sayer: Callable[[], Callable[[Any], None]], family: Family, quiet: bool, told: Any) -> None:
    folder, marks = Path(family.folder), Path(family.unrecorded)
    files = sorted(folder.glob(f"*{SUFFIX}"))
    is_empty = told is None or (getattr(told, "is_empty", False) and not told.size and told.failure is None)
    is_launcher = files and is_empty
    if not is_launcher:
        sayer()(told)
    try:
        others = len(set(marks.read_text(encoding="ascii").split()))
        marks.unlink()
    except (OSError, UnicodeDecodeError):
        others = 0
    if not quiet:
        parent = [] if is_launcher else [getattr(told, "path", folder)]
        _say_children(parent, folder, files, others, family.which)


def _say_children(parent: list[Path], folder: Path, files: list[Path], others: int, which: str) -> None:
    shown = os.path.relpath(folder)
    if files:
        total = size(sum(path.stat().st_size for path in files))
        options.talk(f"and {_processes(len(files))}, {total} -> {shown}/")
        ranks = _rank_of(files[0]) is not None
        with_parent = [path for path in parent if ranks and path.is_file() and _rank_of(path) is not None]
        named = " ".join(shlex.quote(os.path.relpath(path)) for path in (*with_parent, folder))
        options.talk(f"next: gradscope {'ranks' if ranks else 'info'} {named}")
    if others:
        how = "without --no-children they are" if which == WHICH[2] else "with --children they are"
        options.talk(f"{_processes(others)} that ran a backward left out: {how} recorded")


def _rank_of(path: Path) -> int | None:
    try:
        with load(path) as recording:
            return recording.run().rank
    except UnreadableError:
        return None


def _processes(count: int) -> str:
    return "1 child process" if count == 1 else f"{count:,} child processes"


def _say_what_was_asked(armed: Armed, quiet: bool, written: list[Summary]) -> None:
    sys.stdout.flush()
    for sentence in armed.trouble:
        options.talk(f"not recorded: {sentence}")
    if quiet:
        return
    for summary in written:
        why = armed.reasons.get(summary.path)
        counts = f"{amount(summary.backwards, 'backward call')}, {size(summary.size)}"
        options.talk(f"{counts}{f', because {why}' if why else ''} -> {summary.path}")
    if written:
        options.talk(f"next: gradscope explain {shlex.quote(str(written[-1].path))}")
    else:
        options.talk("armed, and not asked for a recording")


def _say_what_was_kept(
    recorder: Recorder | Ring, quiet: bool, say: Callable[[Summary], None], summary: Summary
) -> None:
    say(summary)
    for sentence in getattr(recorder, "trouble", ()):
        options.talk(f"not kept: {sentence}")
    for one in () if quiet else getattr(recorder, "kept", ()):
        options.talk(f"kept at step {one.step:,}, because {one.why} -> {one.path}")


def _say_what_was_rotated(
    rotation: Rotation, quiet: bool, speaker: Callable[[Path], Callable[[Summary], None]], summary: Summary
) -> None:
    speaker(summary.path)(summary)
    for sentence in rotation.trouble:
        options.talk(f"not recorded: {sentence}")
    for path in () if quiet else [one for one in rotation.written if one != summary.path]:
        options.talk(f"kept before it: {path}")


def _speaker(path: Path, quiet: bool, no_explain: bool, check_functions: bool) -> Callable[[Summary], None]:
    """What is said at the end; the program may change its directory until then."""
    if check_functions and (no_explain or quiet):
        told = "--check-functions says at the end what it found, and that is switched off"
        raise UsageError(told, "leave -q and --no-explain out")
    explaining = _explain_nothing if no_explain else _explain_elsewhere if check_functions else findings.tell
    return _say_nothing if quiet else partial(_say, path, explained=partial(explaining, path.absolute()))


def _say_nothing(summary: Summary) -> None:
    pass


def _say(shown: Path, summary: Summary, explained: Callable[[], bool]) -> None:
    """`shown`: where the recording is, as the user wrote it."""
    sys.stdout.flush()
    found = summary.size > 0 and explained()
    if summary.is_empty and not summary.size and summary.failure is None:
        options.talk("nothing was recorded: the program made no node, and ran no backward")
        return
    counts = f"{amount(summary.backwards, 'backward call')}, {amount(summary.nodes, 'node')}"
    options.talk(f"{counts}, {size(summary.size)}, {seconds(summary.seconds)} -> {shown}")
    path = shlex.quote(str(shown))  # what is printed can be typed
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
