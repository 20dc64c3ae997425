"""`gradscope steps`: how the training goes, step by step."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import click

from gradscope.anomaly import explain
from gradscope.commands import options, tables
from gradscope.errors import NothingCheckedError
from gradscope.measures.steps import by_quantity, by_step
from gradscope.render.tables import choose
from gradscope.store.reader import Recording

BY = ["step", "quantity"]


@click.command("steps", context_settings=options.HELP)
@options.recording
@tables.sort
@tables.top
@tables.fmt
@options.output
@options.force
@options.color
@options.quiet
@tables.by(BY, "A row for each step, or a curve for each quantity; svg draws the curves.")
def command(recording: str | None, by: str, **chosen: Any) -> None:
    """Show how a training goes: by step the loss, the graph, the gradient, what stepped, changed and was cleared.

    Also the learning rate, a GradScaler's factor, and the codes of the findings about that step.
    """
    options.check_output(chosen["output"], chosen["force"])
    with options.open_recording(recording, chosen["quiet"]) as opened:
        table = by_step(opened, _codes(opened))
        if not table.rows:
            raise NothingCheckedError("no backward() gave gradients to leaves in this recording")
        curves = by == "quantity" or choose(chosen["fmt"], chosen["output"]).name == "svg"
        tables.deliver(opened, [by_quantity(table, opened.losses()) if curves else table], chosen)


def _codes(opened: Recording) -> dict[int, list[str]]:
    """The codes of findings, by the backward that they are about."""
    found: dict[int, list[str]] = defaultdict(list)
    for finding in explain(opened).findings:
        if finding.backward is not None:
            found[finding.backward].append(finding.code)
    return found
