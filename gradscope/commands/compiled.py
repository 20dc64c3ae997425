"""`gradscope compiled`: what compiled autograd made of a program's backward calls."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click

from gradscope.commands import drawing, options
from gradscope.errors import NothingCheckedError, UsageError
from gradscope.model.graph import Graph
from gradscope.render.compiled import COMPILED_FORMATS, choose
from gradscope.store.reader import Recording
from gradscope.view.compiled import CompiledScene
from gradscope.view.ordered import ordered

HOW_TO_RECORD = "record with `gradscope trace --compiled-autograd SCRIPT`"


@click.command("compiled", context_settings=options.HELP)
@options.recording
@click.option("--capture", type=click.IntRange(min=0), help="The capture whose graph is shown.  [default: the last]")
@click.option("--fmt", type=click.Choice(list(COMPILED_FORMATS)), help="How to write it. [default: what -o ends in]")
@drawing.shared
@options.output
@options.force
@options.color
@options.quiet
def command(
    recording: str | None,
    capture: int | None,
    fmt: str | None,
    output: str | None,
    force: bool,
    color: str,
    quiet: bool,
    **chosen: Any,
) -> None:
    """Show the backward calls that compiled autograd captured as graphs, and why it could not use an older one.

    Record with `gradscope trace --compiled-autograd SCRIPT`. Without a RECORDING, the newest one is read.
    """
    options.check_output(output, force)
    with options.open_recording(recording, quiet) as opened:
        scene = _scene(opened, capture, options.page_width(output), options.wants_color(color, output))
        result = choose(fmt, output)(replace(scene, style=drawing.style(chosen, quiet)))
        options.deliver(result, output, quiet)


def _scene(opened: Recording, capture: int | None, width: int, color: bool) -> CompiledScene:
    """What the recording has. Raises NothingCheckedError when that is nothing, UsageError for an unknown capture."""
    captured, runs, run = opened.captured(), opened.compiled_runs(), opened.run()
    if not captured:
        raise NothingCheckedError("no backward call of this recording ran under compiled autograd", HOW_TO_RECORD)
    known = [one.number for one in captured]
    if capture is not None and capture not in known:
        raise UsageError(f"there is no capture {capture}", f"there are {known[0]} to {known[-1]}")
    graphs = _graphs(opened, {one.backward for one in captured if one.backward is not None})
    shown = known[-1] if capture is None else capture
    return CompiledScene(str(opened.path), run.torch, captured, runs, graphs, shown, run.cwd, width, color)


def _graphs(opened: Recording, wanted: set[int]) -> dict[int, Graph]:
    """The recorded graphs of these backward calls, in eager order."""
    held = {number for group in opened.by_graph() for number in group}
    return {number: ordered(opened.graph(number)) for number in wanted & held}
