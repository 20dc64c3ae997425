"""`gradscope record`: have an armed program record its next steps, and say what they show."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import click

from gradscope.channel.attach import attach, can_attach
from gradscope.channel.client import ARM_IT, Connection, NotArmed, Window, armed_programs, asked, group_of
from gradscope.commands import findings, options
from gradscope.commands.progress import waiting
from gradscope.errors import NothingCheckedError, UsageError
from gradscope.model.detail import Detail
from gradscope.model.printable import printable
from gradscope.model.request import STEPS, ArmedProgram, RecordRequest
from gradscope.view.words import amount, seconds, size

ALL = "all"


@click.command(context_settings=options.HELP)
@click.argument("pid", required=False, type=click.IntRange(min=1))
@click.option(
    "--steps",
    type=click.IntRange(min=1),
    default=STEPS,
    show_default=True,
    metavar="N",
    help="How many steps to record.",
)
@click.option(
    "--detail",
    type=click.Choice([one.value for one in Detail]),
    default=Detail.FULL.value,
    show_default=True,
    help="How much to record.",
)
@click.option("--at", type=click.IntRange(min=0), metavar="STEP", help="Begin with this step. [default: the next one]")
@click.option(
    "--ranks",
    metavar="all|N,N,...",
    help="Record these ranks of PID's run on this machine, from the same step on. [default: PID alone]",
)
@click.option("--no-explain", is_flag=True, help="Do not look for what went wrong.")
@click.option("-q", "--quiet", is_flag=True, help="Print the recording's path and nothing else.")
def command(
    pid: int | None, steps: int, detail: str, at: int | None, ranks: str | None, no_explain: bool, quiet: bool
) -> int:
    """Record the next steps of a program that runs already, and was started with `gradscope trace --arm`.

    From Python 3.14 on one that was started without gradscope is taken as well: name its PID, and it is armed first,
    where the system permits that.

    Waits until the steps are recorded, and says where they are, and what went wrong in them. Ask as often as you like.
    Without a PID the only armed program is taken. Ctrl-C withdraws a request whose first step has not come; a
    recording that has begun is finished.
    """
    program = _only() if pid is None else _program(pid)
    chosen = [program] if ranks is None else _chosen(group_of(program), ranks)
    with asked(chosen, RecordRequest(steps, detail, at)) as windows:
        if not quiet:
            names = ", ".join(f"{one.program.name} ({one.program.pid})" for one in windows)
            options.talk(f"{names}: {amount(steps, 'step')} from step {windows[0].start:,} on, at {detail}")
        with waiting(quiet) as say:
            say("waiting for the steps")
            done = [_finished(window) for window in windows]
    for one in done:
        _tell(one, quiet, no_explain)
    return 0


def _program(pid: int) -> ArmedProgram:
    """A program by its number; one that was started without gradscope is armed now, where Python can do that."""
    try:
        with Connection(pid) as connection:
            return connection.state()
    except NotArmed as error:
        if not can_attach():
            raise
        attach(pid, error)
    with Connection(pid) as connection:
        return connection.state()


def _only() -> ArmedProgram:
    """The armed program, where there is one, or the first rank of the only run."""
    found = armed_programs()
    if not found:
        raise NothingCheckedError("no program is armed", ARM_IT)
    if len(found) > 1 and (found[0].group is None or len({one.group for one in found}) > 1):
        listed = ", ".join(f"{one.pid} ({one.name}, step {one.step:,})" for one in found)
        raise UsageError(f"{len(found)} programs are armed: {printable(listed)}", "name one: gradscope record PID")
    return min(found, key=lambda one: one.rank or 0)


def _chosen(group: list[ArmedProgram], ranks: str) -> list[ArmedProgram]:
    if group[0].rank is None:
        raise UsageError(f"{group[0].name} is no rank of a run", "leave --ranks out")
    if ranks == ALL:
        return group
    known = {str(one.rank): one for one in group}
    wanted = [rank.strip() for rank in ranks.split(",")]
    for rank in wanted:
        if rank not in known:
            there = ", ".join(known)
            raise UsageError(f"there is no armed rank {printable(rank)} on this machine", f"there are: {there}")
    return [known[rank] for rank in dict.fromkeys(wanted)]


def _finished(window: Window) -> dict[str, Any]:
    """What is told at the end of a window."""
    while True:
        message = window.connection.next(seconds=None)
        if isinstance(message.get("finished"), str):
            return message


def _tell(done: dict[str, Any], quiet: bool, no_explain: bool) -> None:
    path = Path(done["finished"])
    if quiet:
        click.echo(path)  # for scripts
        return
    found = not no_explain and findings.tell(path)
    counts = f"{amount(_count(done, 'backwards'), 'backward call')}, {amount(_count(done, 'nodes'), 'node')}"
    took = f"{size(_count(done, 'size'))}, {seconds(float(_count(done, 'seconds')))}"
    options.talk(f"{counts}, {took} -> {path}")
    if done.get("failure"):
        options.talk(f"the recording stopped early: {done['failure']}")
    options.talk(f"next: gradscope {'explain' if found else 'steps'} {shlex.quote(str(path))}")


def _count(done: dict[str, Any], name: str) -> Any:
    value = done.get(name)
    return value if isinstance(value, (int, float)) else 0
