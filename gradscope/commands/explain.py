"""`gradscope explain`: say from a recording why a backward failed or went wrong. Loads no torch."""

from __future__ import annotations

from dataclasses import replace

import click

from gradscope.anomaly import explain
from gradscope.commands import options, reporting
from gradscope.commands.collector import paused
from gradscope.model.choice import Choice, codes
from gradscope.model.report import Report, Unchecked
from gradscope.model.site import Origin
from gradscope.store.reader import Recording


@click.command("explain", context_settings=options.HELP)
@options.recording
@click.option(
    "--check-functions",
    is_flag=True,
    help="Try the custom Functions that ran, as check-function does, on inputs of the recorded kinds.",
)
@reporting.select
@reporting.ignore
@reporting.fmt
@reporting.output
@reporting.force
@reporting.fail_on
@reporting.exit_zero
@options.quiet
def command(
    recording: str | None,
    check_functions: bool,
    select: str,
    ignore: str,
    fmt: str | None,
    output: str,
    force: bool,
    fail_on: str,
    exit_zero: bool,
    quiet: bool,
) -> int:
    """Say why a backward failed or silently went wrong, and which line to edit.

    Findings stand in order, the most likely cause first. Without a RECORDING, the newest in the working directory (or
    $GRADSCOPE_DIR) is read. Exits with 1 when something as severe as --fail-on is found, 0 otherwise.

    --check-functions executes your code: the imports and definitions of the script (nothing else of it), and the
    Functions, in processes of their own.
    """
    options.check_output(output, force)
    mistakes: list[Exception] = []
    with options.open_recording(recording, quiet) as opened:
        choice = Choice(codes(select), codes(ignore))
        with paused():
            report = explain(opened, choice, mistakes=mistakes)
        report = _checked(report, opened, choice) if check_functions else _unchecked(report, opened)
    reporting.write(report, fmt, output, force)
    if mistakes:
        raise mistakes[0]  # said once the other answers are out
    return 0 if exit_zero else reporting.exit_status(report, fail_on)


def _unchecked(report: Report, recording: Recording) -> Report:
    """Name the program's own custom Functions: whether their derivatives are right is not known."""
    own = [one for one in recording.functions() if one.class_site and one.class_site.origin is Origin.USER]
    return replace(report, unchecked=tuple(Unchecked(one.bare_name) for one in own))


def _checked(report: Report, recording: Recording, choice: Choice) -> Report:
    """Join what check-function finds, the worse first."""
    from gradscope.torch_internals.installed import require_torch

    require_torch("explain --check-functions")
    from gradscope.functions.met import Met, check_met

    texts, calls = recording.sources(), recording.function_calls()
    seen = [
        Met(one, calls.get(one.name, ()), None if one.class_site is None else texts.get(one.class_site.file))
        for one in recording.functions()
    ]
    met = check_met(seen, any(call.create_graph for call in recording.backwards()), choice)
    told = {(one.code, str(one.site)) for one in report.findings}
    new = [one for one in met.findings if (one.code, str(one.site)) not in told]
    both = sorted((*report.findings, *new), key=lambda finding: finding.severity.rank)
    return replace(report, findings=tuple(both), checked=met.checked, unchecked=met.unchecked)
