"""`gradscope replay`: walk a recorded backward step by step; run it again from its tensors; cut one node out of it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NoReturn

import click

from gradscope.commands import options
from gradscope.errors import Exit, NothingCheckedError, UsageError
from gradscope.graphs.find import find, find_one
from gradscope.model.graph import Graph
from gradscope.render import execution, replay_json, replay_text
from gradscope.render.stepper import Stepper
from gradscope.store.reader import Recording
from gradscope.view.replay import Recorded, Replay, ReplayStep, replay
from gradscope.view.words import short_name

WITH_TENSORS = "record them with `gradscope trace --tensors`"


@click.command(context_settings=options.HELP)
@options.recording
@click.option("--fmt", type=click.Choice(["text", "json"]), default="text", show_default=True, help="How to write it.")
@options.backward
@click.option("--step", is_flag=True, help="Walk by commands: next, back, until, find, where, queue; help lists them.")
@click.option("--from", "start", metavar="NODE", help="Begin at NODE: #place, id, name, leaf or FILE:LINE.")
@click.option("--until", "end", metavar="NODE", help="End at NODE.")
@click.option("--inputs", metavar="NODE,...", multiple=True, help="As if these were its inputs=; a leaf by its name.")
@click.option("--priority", metavar="NODE=SEQ", multiple=True, help="As if NODE had this sequence number.")
@click.option("--execute", is_flag=True, help="Run it again on what trace --tensors stored, and compare.")
@click.option("--extract", metavar="NODE", help="Write a script that repeats NODE alone, and its tensors.")
@options.output
@options.force
@options.color
@options.quiet
def command(
    recording: str | None,
    fmt: str,
    backward: int | None,
    step: bool,
    start: str | None,
    end: str | None,
    inputs: tuple[str, ...],
    priority: tuple[str, ...],
    execute: bool,
    extract: str | None,
    output: str | None,
    force: bool,
    color: str,
    quiet: bool,
) -> int:
    """Walk a recorded backward as the engine ran it, or as it would run it.

    Without a RECORDING, the newest in the working directory (or $GRADSCOPE_DIR) is read.
    """
    _check(step, execute, extract, inputs, fmt)
    with options.open_recording(recording, quiet) as opened:
        options.check_output(output, force)
        recorded = _read(opened, backward)
        told = _tell(opened, recorded, inputs, priority)
        if extract is not None:
            _write_script(opened, told, extract, output, force, quiet)
            return Exit.OK
        if execute:
            return _execute(opened, told, fmt, output, quiet)
        steps = _range(told, start, end)
        colored = options.wants_color(color, output)
        width = options.page_width(output) if options.to_terminal(output) else None
        if step:
            _walk(Stepper(told, colored, told.steps.index(steps[0]), width))
            return Exit.OK
        text = replay_json.to_json(told, steps) if fmt == "json" else replay_text.listing(told, steps, colored, width)
        options.deliver(text, output, quiet)
    return Exit.OK


def _check(step: bool, execute: bool, extract: str | None, inputs: tuple[str, ...], fmt: str) -> None:
    if sum((step, execute, extract is not None)) > 1:
        raise UsageError("--step, --execute and --extract do not go together", "give one of them")
    if inputs and (execute or extract is not None):
        raise UsageError("other inputs= cannot be run again", "only what ran is recorded; leave out --inputs")
    if step and fmt != "text":
        raise UsageError("--step talks in text", "leave out --fmt")


def _read(opened: Recording, backward: int | None) -> Recorded:
    graph = opened.graph(backward)
    number = graph.backward.number
    return Recorded(
        graph, opened.node_runs(number), opened.gradients(number), opened.operators(number), opened.nested(number)
    )


def _tell(opened: Recording, recorded: Recorded, inputs: tuple[str, ...], priority: tuple[str, ...]) -> Replay:
    graph, run, path = recorded.graph, opened.run(), str(opened.path)
    if not inputs and not priority:
        return replay(recorded, run, path)
    places = replay(recorded, run, path).places
    names = [name for each in inputs for name in each.split(",") if name.strip()]
    nodes = tuple(find_one(graph, name, places).id for name in names) if inputs else None
    numbers = dict(_priority(graph, one, places) for one in priority)
    return replay(recorded, run, path, nodes, numbers)


def _priority(graph: Graph, text: str, places: dict[int, int]) -> tuple[int, int]:
    name, equals, number = text.rpartition("=")
    if not equals or not (number.isascii() and number.isdigit()) or int(number[:20]) >= 2**64:
        raise UsageError(f"--priority takes NODE=SEQ, not {text!r}", "such as --priority MulBackward0=1000")
    return find_one(graph, name, places).id, int(number[:20])


def _range(told: Replay, start: str | None, end: str | None) -> list[ReplayStep]:
    first = 0 if start is None else _position(told, start, 0)
    last = len(told.steps) - 1 if end is None else _position(told, end, first)
    if not told.steps:
        raise NothingCheckedError("no node of this backward runs")
    return list(told.steps[first : last + 1])


def _position(told: Replay, text: str, begin: int) -> int:
    wanted = {node.id for node in find(told.graph, text, told.places)}
    for number in range(begin, len(told.steps)):
        if told.steps[number].node.id in wanted:
            return number
    raise UsageError(f"no step is at {text!r}", "name a node by #place, id, name, leaf or FILE:LINE")


def _walk(stepper: Stepper) -> None:
    """Answer line by line; a prompt only where someone types."""
    click.echo(stepper.show())
    prompt = sys.stdin.isatty()
    while True:
        if prompt:
            click.echo("(replay) ", nl=False)
        line = sys.stdin.readline()
        answer = stepper.answer(line) if line else None
        if answer is None:
            return
        click.echo(answer)


def _execute(opened: Recording, told: Replay, fmt: str, output: str | None, quiet: bool) -> int:
    stored = opened.stored(told.graph.backward.number)
    if not stored.exchanges:
        _nothing_stored(opened, told)
    from gradscope.torch_internals.installed import require_torch

    require_torch("replay --execute")
    from gradscope.execution.execute import execute
    from gradscope.model.execution import NodeStatus

    order = told.prediction.order if told.priorities else None
    found = execute(told.graph, stored, order)
    write = execution.to_json if fmt == "json" else execution.to_text
    options.deliver(write(told, found), output, quiet)
    if found.first is not None:
        return Exit.FINDINGS
    return Exit.OK if found.count(NodeStatus.EQUAL) else Exit.NOTHING_CHECKED


def _write_script(opened: Recording, told: Replay, name: str, output: str | None, force: bool, quiet: bool) -> None:
    node = find_one(told.graph, name, told.places)
    stored = opened.stored(told.graph.backward.number)
    if not stored.exchanges:
        _nothing_stored(opened, told)
    script = Path(output or f"{short_name(node)}_{node.id}.py")
    if script.suffix != ".py":
        raise UsageError(f"{script} is no Python script", "name a file that ends in .py; its tensors go beside it")
    data = script.with_suffix(".bin")
    for path in (script, data):
        options.check_output(str(path), force)
    from gradscope.torch_internals.installed import require_torch

    require_torch("replay --execute")
    from gradscope.execution.extract import extract

    title = f"{short_name(node)} of {told.run.program or 'a program'}"
    title += f", backward {told.graph.backward.number}" + (f", made at {node.site}" if node.site else "")
    found = extract(node, stored, title, data.name, told.run.torch)
    try:
        data.write_bytes(found.data)
    except OSError as error:
        raise UsageError(f"{data} cannot be written: {error.strerror}") from error
    options.deliver(found.script, str(script), quiet)


def _nothing_stored(opened: Recording, told: Replay) -> NoReturn:
    calls = {call.number: call for call in opened.backwards()}
    number = outermost = told.graph.backward.number
    while (outer := calls[outermost].nested_in) is not None and outer in calls:
        outermost = outer
    if outermost != number and opened.stored(outermost).exchanges:
        hint = f"it ran inside backward {outermost}: take that one"
        raise NothingCheckedError(f"backward {number} has no tensors of its own", hint)
    raise NothingCheckedError(f"the recording holds no tensors of backward {number}", WITH_TENSORS)
