"""`gradscope diff`: where two runs part."""

from __future__ import annotations

import re
from contextlib import ExitStack

import click

from gradscope.commands import options
from gradscope.commands.collector import paused
from gradscope.errors import Exit, UsageError
from gradscope.ranks.comparing.diff import Steps, compare
from gradscope.ranks.core.choice import IGNORABLE, Ignored
from gradscope.render.comparison_formats import COMPARISON_FORMATS, Look, choose
from gradscope.store.reader import Recording


def _steps(context: click.Context, parameter: click.Parameter, value: str | None) -> Steps | None:
    """`N`, or `N:M`."""
    if value is None:
        return None
    found = re.fullmatch(r"(\d{1,15})(?::(\d{1,15}))?", value, re.ASCII)
    if found is None:
        raise UsageError(f"--step takes N or N:M, not {value!r}", "steps count from 0: `gradscope steps` lists them")
    return Steps(int(found[1]), int(found[2] or found[1]))


@click.command("diff", context_settings=options.HELP)
@click.argument("first", metavar="A")
@click.argument("second", metavar="[B]", required=False)
@click.option(
    "--step",
    "steps",
    metavar="N[:M]",
    callback=_steps,
    help="Compare step N only, or step N of A with step M of B; without B, both of A.",
)
@click.option(
    "--ignore",
    multiple=True,
    type=click.Choice(list(IGNORABLE)),
    help="What may differ; can be given several times.",
)
@click.option(
    "--fmt", type=click.Choice(list(COMPARISON_FORMATS)), help="How to write it. [default: what -o ends in, else text]"
)
@options.output
@options.force
@options.color
@options.quiet
def command(
    first: str,
    second: str | None,
    steps: Steps | None,
    ignore: tuple[str, ...],
    fmt: str | None,
    output: str | None,
    force: bool,
    color: str,
    quiet: bool,
) -> int:
    """Say where two runs part: the recordings A and B, or two steps of A.

    Names the first operator, node, tensor, hook, weight, loss or gradient that differs, its line, and the edited source
    line that it goes back to; and what is equal. Lines that only moved are no difference: the sources in the recordings
    tell which is which. How the runs were made (arguments, versions, environment, switches) is shown beside it.

    \b
    --ignore seed   values: weights, losses, gradients, learning rates
    --ignore dtype  dtypes, and the operators and nodes that only convert them
    --ignore names  names of parameters and modules
    --ignore lines  lines: code that only moved

    Exits with 0 when both did the same, with 1 when they did not.
    """
    options.check_output(output, force)
    if second is None and (steps is None or steps.first == steps.second):
        raise UsageError("there is nothing to compare with", "name a second recording, or two steps: --step 3:7")
    with ExitStack() as stack:
        one = stack.enter_context(_open(first, quiet))
        other = one if second is None else stack.enter_context(_open(second, quiet))
        with paused():
            found = compare(one, other, Ignored(**dict.fromkeys(ignore, True)), steps)
    look = Look(options.wants_color(color, output))
    options.deliver(choose(fmt, output).render(found, look), output, quiet)
    return Exit.OK if found.equal else Exit.FINDINGS


def _open(name: str, quiet: bool) -> Recording:
    """Open one, whose facts are read once."""
    recording = options.open_recording(name, quiet)
    recording.answers = {}
    recording.hold()
    return recording
