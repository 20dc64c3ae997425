"""`gradscope debug`: run a program and stop inside a backward, before chosen nodes."""

from __future__ import annotations

import linecache
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gradscope.commands import launching, options
from gradscope.launch.paths import SUFFIX
from gradscope.model.detail import Detail
from gradscope.model.site import Site
from gradscope.torch_internals.installed import require_installed_torch

if TYPE_CHECKING:
    from gradscope.capture import Recorder
    from gradscope.debugger.watch import Watch
    from gradscope.model.graph import Graph
    from gradscope.probes.core.faults import Faults
    from gradscope.probes.core.threads import Threads
    from gradscope.store.writer import Writer


@click.command(cls=launching.ProgramCommand, context_settings=launching.SETTINGS)
@click.option(
    "-b",
    "--break",
    "places",
    multiple=True,
    metavar="NAME|FILE:LINE|nan",
    help="Stop before such nodes: a name or pattern, a parameter, a forward line, or a gradient that is not finite.",
)
@click.option("--backward", type=click.IntRange(min=0), metavar="N", help="Only in this backward call, from 0.")
@launching.program
def command(
    places: tuple[str, ...], backward: int | None, module: str | None, code: str | None, program: tuple[str, ...]
) -> int:
    """Run SCRIPT and stop in a backward, before a node runs; then type help.

    Without --break it stops before the first node of the first backward. The script's results stay what they are,
    unless `set` gives a node another gradient. Commands can be piped in; the end of input quits, as in pdb.
    """
    from gradscope.launch.recorded import run_program
    from gradscope.launch.torch_import import OnceTorchIsThere

    require_installed_torch()
    what = launching.chosen(module, code, program)
    watches: list[Watch] = []

    def watch(writer: Writer, threads: Threads, faults: Faults) -> Watch:
        watches.append(_watch(places, backward, writer, threads, faults))
        return watches[-1]

    def make() -> Recorder:
        from gradscope.capture import Recorder

        path = Path(folder) / f"debug{SUFFIX}"
        recorder = Recorder(path, Detail.NODES, guest=lambda threads, faults: watch(recorder.writer, threads, faults))
        return recorder

    with tempfile.TemporaryDirectory(prefix="gradscope-") as folder:
        waiting = OnceTorchIsThere(make, lambda: None)  # children are not stopped
        status = run_program(what, waiting, lambda summary: None)
    for one in [place for each in watches for place in each.never_reached]:
        options.talk(f"the breakpoint {one.text} was never reached")
    return status


def _watch(places: tuple[str, ...], backward: int | None, writer: Writer, threads: Threads, faults: Faults) -> Watch:
    from gradscope.debugger.breakpoints import Breakpoint
    from gradscope.debugger.prompt import Prompt
    from gradscope.debugger.watch import Watch

    prompt = Prompt([Breakpoint(place) for place in places], _line)
    return Watch(partial(_graph, writer), prompt, threads, faults, backward)


def _graph(writer: Writer, number: int) -> Graph:
    """The graph of a running call, from the recording that is being written."""
    from gradscope.store.file import OpenFile
    from gradscope.store.reader import Recording
    from gradscope.view.ordered import ordered

    return ordered(Recording(OpenFile(writer.path, writer.connection())).graph(number))


def _line(site: Site) -> str:
    return linecache.getline(site.file, site.line).strip()
