"""`gradscope times`: where the time of a backward went."""

from __future__ import annotations

from typing import Any

import click

from gradscope.commands import options, tables
from gradscope.errors import NothingCheckedError
from gradscope.measures.places import PLACES
from gradscope.measures.times import Measured, operators_inside, times
from gradscope.store.reader import Recording


@click.command("times", context_settings=options.HELP)
@tables.shared
@tables.by(list(PLACES), "What a row stands for.")
def command(recording: str | None, backward: int | None, by: str, **chosen: Any) -> None:
    """Say where the time of a backward went: by line, module, node, kind of node or parameter.

    Needs a recording of `--detail full`. Without --backward, the mean of all calls with the same graph as the last one.
    """
    options.check_output(chosen["output"], chosen["force"])
    with options.open_recording(recording, chosen["quiet"]) as opened:
        graph = opened.graph(backward)
        number = graph.backward.number
        calls = [_measured(opened, each) for each in (opened.alike(number) if backward is None else (number,))]
        calls = [call for call in calls if call.runs]
        if not calls:
            raise NothingCheckedError("this recording has no times", "record with `gradscope trace --detail full`")
        tables.deliver(opened, [times(graph, calls, operators_inside(opened.blocks(), number), by)], chosen)


def _measured(opened: Recording, number: int) -> Measured:
    """The runs of one call, and the spans of the calls inside it."""
    calls = {call.number: call for call in opened.backwards()}
    nested = [call for call in calls.values() if call.nested_in == number]
    spans = tuple((call.started - calls[number].started, call.duration or 0.0) for call in nested)
    return Measured(opened.node_runs(number), spans)
