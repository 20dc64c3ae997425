"""`gradscope hooks`: which hooks fired in a backward, in which order, and which did not."""

from __future__ import annotations

from typing import Any

import click

from gradscope.commands import options, tables
from gradscope.measures.hooks import PROMISE, Selection, fired_table, silent_table
from gradscope.view.ordered import ordered


@click.command("hooks", context_settings=options.HELP)
@tables.shared
@click.option("--kind", multiple=True, type=click.Choice(list(PROMISE)), help="Only hooks of this kind.")
@click.option("--node", metavar="ID|NAME", help="Only what happened at this node.")
@click.option("--tensor", metavar="NAME", help="Only hooks of this parameter or tensor.")
@click.option("--all-nodes", is_flag=True, help="Nodes without hooks, too, in their places.")
def command(
    recording: str | None,
    backward: int | None,
    kind: tuple[str, ...],
    node: str | None,
    tensor: str | None,
    all_nodes: bool,
    **chosen: Any,
) -> None:
    """Show the hooks of one backward in firing order among its nodes, then those that did not fire, and why.

    Norms before and after a hook and the time that it took are in recordings of `--detail full`.
    """
    selection = Selection(kind, node, tensor)
    options.check_output(chosen["output"], chosen["force"])
    with options.open_recording(recording, chosen["quiet"]) as opened:
        graph = ordered(opened.graph(backward))
        fired = fired_table(graph, selection, all_nodes)
        silent = silent_table(graph, opened.hooks_at(graph.backward.number), selection)
        tables.deliver(opened, [fired, *([silent] if silent.rows else [])], chosen)
