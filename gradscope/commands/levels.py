"""`gradscope levels`: the torch.func transforms of a run."""

from __future__ import annotations

from typing import Any

import click

from gradscope.commands import options, tables
from gradscope.errors import NothingCheckedError
from gradscope.measures.levels import escapes, inside, levels, of_nodes


@click.command("levels", context_settings=options.HELP)
@tables.shared
@click.option("--nodes", is_flag=True, help="The transforms of every node of one backward instead.")
def command(recording: str | None, backward: int | None, nodes: bool, **chosen: Any) -> None:
    """Show the torch.func transforms of a run: grad, vmap, jvp, jacrev, jacfwd, hessian, functionalize, any nesting.

    For each: the call that pushed it, batch size and randomness, what ran under it; then tensors that escaped from one.
    """
    options.check_output(chosen["output"], chosen["force"])
    with options.open_recording(recording, chosen["quiet"]) as opened:
        if nodes:
            tables.deliver(opened, [of_nodes(opened.graph(backward))], chosen)
            return
        pushed = opened.transforms()
        if not pushed:
            raise NothingCheckedError("no torch.func transform ran in this recording")
        graphs = (opened.graph(numbers[0]) for numbers in opened.by_graph())
        escaped = escapes(opened.escaped(), pushed, opened.source)
        shown = [levels(pushed, inside(graphs, opened.blocks())), *([escaped] if escaped.rows else [])]
        tables.deliver(opened, shown, chosen)
