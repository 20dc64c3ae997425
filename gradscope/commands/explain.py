"""`gradscope explain`: say from a recording why a backward failed or went wrong. Loads no torch."""

from __future__ import annotations

import click

from gradscope.anomaly import explain
from gradscope.commands import options, reporting
from gradscope.model.choice import Choice, codes


@click.command("explain", context_settings=options.HELP)
@options.recording
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
    """
    with options.open_recording(recording, quiet) as opened:
        report = explain(opened, Choice(codes(select), codes(ignore)))
    reporting.write(report, fmt, output, force)
    return 0 if exit_zero else reporting.exit_status(report, fail_on)
