"""`gradscope joint`: what torch.compile makes of a function's forward and backward, live or from a recording."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gradscope.commands import drawing, options
from gradscope.commands.check_function import chosen_inputs, dotted, recorded_inputs
from gradscope.errors import NothingCheckedError, UsageError
from gradscope.model.joint import EagerTensor
from gradscope.render.joint import JOINT_FORMATS, choose
from gradscope.view.joint import JointScene

if TYPE_CHECKING:
    from gradscope.functions.inputs.sample import Sample

HOW_TO_RECORD = "record with `gradscope trace --joint SCRIPT`, a script that uses torch.compile"


@click.command("joint", context_settings=options.HELP)
@click.argument("recording", required=False, metavar="[MOD.FN | RECORDING]")
@click.option("--inputs", metavar="MOD.FACTORY", help="A callable or data: one tuple of arguments or a list of them.")
@click.option("--spec", help="Inputs in words: 'randn(3,4):grad, int=2, index(5,max=3), None'; several with ';'.")
@click.option("--from-trace", metavar="RECORDING", help="Inputs of the kinds that a custom Function was called with.")
@click.option("--device", default="cpu", show_default=True, help="Where the inputs are.")
@click.option("--dynamic", is_flag=True, help="Take every size as a symbol, as torch.compile(dynamic=True) does.")
@click.option("--diff", is_flag=True, help="Beside what eager autograd saves, line by line.")
@click.option("--region", type=click.IntRange(min=0), help="Only this one of several graphs.")
@click.option("--partition", help="The partition to draw: default, min-cut or own.  [default: the one in use]")
@click.option("--nodes/--no-nodes", default=True, help="List the nodes, or only what is saved.")
@click.option(
    "--fmt", type=click.Choice(list(JOINT_FORMATS)), help="How to write it. [default: what -o ends in, else text]"
)
@drawing.shared
@options.output
@options.force
@options.color
@options.quiet
def command(recording: str | None, output: str | None, force: bool, color: str, quiet: bool, **chosen: Any) -> None:
    """Show the joint graph of forward and backward, how it is cut in two, and what is saved in between.

    MOD.FN is a function, a module or its class (pkg.mod.name, pkg.mod:name or file.py:name); it is compiled on the
    inputs given. A RECORDING made with `gradscope trace --joint` shows what a whole program compiled, without torch.
    """
    options.check_output(output, force)
    format = choose(chosen["fmt"], output)
    live = recording is not None and not (recording.endswith(".gscope") or Path(recording).is_file())
    scene = _compiled(str(recording), chosen) if live else _recorded(recording, chosen, quiet)
    scene = replace(scene.only(chosen["region"]).drawn(chosen["partition"]), style=drawing.style(chosen, quiet))
    width, colored = options.page_width(output), options.wants_color(color, output)
    options.deliver(format.render(scene.sized(width, colored, chosen["nodes"])), output, quiet)


def _recorded(what: str | None, chosen: dict[str, Any], quiet: bool) -> JointScene:
    if chosen["diff"] or chosen["inputs"] or chosen["spec"] or chosen["from_trace"]:
        raise UsageError("--diff, --inputs, --spec and --from-trace are for functions, not for recordings")
    with options.open_recording(what, quiet) as opened:
        regions, breaks = opened.regions(), opened.graph_breaks()
        if not regions:
            reason = f": {breaks[0].text}" if breaks else ""
            raise NothingCheckedError(f"this recording holds no joint graph{reason}", HOW_TO_RECORD)
        run = opened.run()
        return JointScene(str(opened.path), run.torch, regions, breaks, run.cwd)


def _compiled(name: str, chosen: dict[str, Any]) -> JointScene:
    """Compile a function, and run it without a compiler for --diff."""
    from gradscope.torch_internals.installed import require_torch

    require_torch("joint", "torch.compile")
    from gradscope.compilers.run import callable_of, capture, eager
    from gradscope.functions.device import check_device
    from gradscope.functions.loading import make_working_directory_importable, resolve
    from gradscope.store.origin import whose

    make_working_directory_importable()
    check_device(chosen["device"])
    found = resolve(name)
    target = callable_of(found, name)
    samples = _samples(name, found, chosen)
    calls = [_arguments(sample, chosen["device"]) for sample in samples]
    captured = capture(target, name, calls, chosen["dynamic"], whose)
    saved: tuple[EagerTensor, ...] | None = None
    if chosen["diff"]:
        saved = eager(target, _arguments(samples[0], chosen["device"]), whose)
    folder = str(Path.cwd())
    return JointScene(name, captured.torch, tuple(captured.regions), tuple(captured.breaks), folder, saved)


def _samples(name: str, found: Any, chosen: dict[str, Any]) -> tuple[Sample, ...]:
    given, _ = chosen_inputs(chosen)
    if chosen["from_trace"]:
        target = dotted(name)
        given = recorded_inputs(Path(chosen["from_trace"]), [(target, found)])[target]
    if not given:
        raise UsageError(f"compiling {name} needs inputs", "give them with --inputs MOD.FACTORY or --spec 'randn(3,4)'")
    return given


def _arguments(sample: Sample, device: str) -> list[Any]:
    """Fresh arguments; what was one tensor twice stays one, as the compiler sees a difference in that."""
    values = sample.on(device).fresh()
    first = {id(value): place for place, value in reversed(list(enumerate(sample.args)))}
    return [values[first[id(value)]] for value in sample.args]
