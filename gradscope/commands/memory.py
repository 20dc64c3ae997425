"""`gradscope memory`: what a graph keeps for its backward."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click

from gradscope.commands import options, tables
from gradscope.errors import UsageError
from gradscope.measures.memory import checkpointing, memory
from gradscope.measures.peak import Peak, peak
from gradscope.measures.places import PLACES, single
from gradscope.model.graph import Graph
from gradscope.view.ordered import ordered
from gradscope.view.words import size


@click.command("memory", context_settings=options.HELP)
@tables.shared
@tables.by(list(PLACES), "What a row stands for.")
@click.option("--checkpointing", "freed", is_flag=True, help="What checkpointing each module would free instead.")
def command(recording: str | None, backward: int | None, by: str, freed: bool, **chosen: Any) -> None:
    """Say what a graph keeps in memory for its backward, each storage counted once, and where.

    Without --backward, the last one.
    """
    if freed and by != next(iter(PLACES)):
        raise UsageError("--checkpointing and --by do not go together", "checkpointing is by module")
    options.check_output(chosen["output"], chosen["force"])
    with options.open_recording(recording, chosen["quiet"]) as opened:
        graph = ordered(opened.graph(backward))
        table = checkpointing(graph) if freed else memory(graph, by)
        notes = (*table.notes, _words(graph, peak(graph)))
        tables.deliver(opened, [replace(table, notes=notes)], chosen)


def _words(graph: Graph, highest: Peak) -> str:
    where = "before the first node" if highest.node is None else f"at {single(graph.nodes[highest.node])}"
    parts = f"{size(highest.saved)} saved, {size(highest.gradients)} of gradients"
    parts += f", {size(highest.again)} computed again by checkpoints" if highest.again else ""
    return f"peak during the backward, estimated: {size(highest.bytes)} {where} ({parts})"
