"""`gradscope grads`: the gradients that reached each parameter, or went through each node."""

from __future__ import annotations

from typing import Any

import click

from gradscope.commands import options, tables
from gradscope.errors import NothingCheckedError
from gradscope.measures.gradients import by_node, by_parameter
from gradscope.model.table import Table
from gradscope.store.reader import Recording

BY = ["param", "node"]


@click.command("grads", context_settings=options.HELP)
@tables.shared
@tables.by(BY, "What a row stands for.")
def command(recording: str | None, backward: int | None, by: str, **chosen: Any) -> None:
    """Show how gradients flow: norms, zeros, NaN and Inf by parameter over the run, or by node from loss to leaves.

    Needs a recording of `--detail full`. Without --backward, parameters are shown over all recorded backward calls, and
    nodes over all calls with the same graph as the last one.
    """
    options.check_output(chosen["output"], chosen["force"])
    with options.open_recording(recording, chosen["quiet"]) as opened:
        table = (_parameters if by == "param" else _nodes)(opened, backward)
        if not table.rows:
            raise NothingCheckedError("this recording has no gradients", "record with `gradscope trace --detail full`")
        tables.deliver(opened, [table], chosen)


def _parameters(opened: Recording, backward: int | None) -> Table:
    groups = opened.by_graph() if backward is None else ((backward,),)
    return by_parameter(
        (graph, opened.gradients(number))
        for numbers in groups
        for graph in (opened.graph(numbers[0]),)
        for number in numbers
    )


def _nodes(opened: Recording, backward: int | None) -> Table:
    graph = opened.graph(backward)
    number = graph.backward.number
    numbers = opened.alike(number) if backward is None else (number,)
    return by_node(graph, [opened.gradients(each) for each in numbers])
