"""`gradscope graph`: draw the graph of one recorded backward call."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import click
from click.core import ParameterSource

from gradscope.commands import drawing, options, pages
from gradscope.commands.collector import paused
from gradscope.commands.progress import waiting
from gradscope.errors import NothingCheckedError, UsageError
from gradscope.graphs.find import find_one
from gradscope.graphs.match import match
from gradscope.graphs.part import numbers_of_level, of_level
from gradscope.graphs.rules import RADIUS, Rules
from gradscope.measures.steps import updated
from gradscope.model.finding import Finding
from gradscope.model.graph import Graph
from gradscope.render.formats import FORMATS, Format, choose
from gradscope.store.reader import Recording
from gradscope.view.heat import QUANTITIES, Measured, heat
from gradscope.view.ordered import ordered
from gradscope.view.scene import Scene, Show
from gradscope.view.theme import THEMES

FORMAT_HELP = "; ".join(f"{format.name}: {format.help}" for format in FORMATS.values())
SHOWN = ",".join(one.value for one in Show)


def shown(context: click.Context, parameter: click.Parameter, value: str) -> frozenset[Show]:
    """What `--show` asks for."""
    names = [name.strip().lower() for name in value.split(",") if name.strip()]
    if names == ["all"]:
        return frozenset(Show)
    known = {one.value: one for one in Show}
    strange = next((name for name in names if name not in known), None)
    if strange is not None:
        raise UsageError(f"--show knows no {strange!r}", f"it takes some of {SHOWN}, or all")
    return frozenset(known[name] for name in names)


@click.command(context_settings=options.HELP)
@options.recording
@click.option("--fmt", type=click.Choice(list(FORMATS)), help=f"{FORMAT_HELP}. Default: what -o ends in, else text.")
@options.backward
@click.option("--depth", type=click.IntRange(min=1), help="How many levels of modules to open; default: what fits.")
@click.option("--no-fold", is_flag=True, help="Fold nothing together: no views, repeats, chains or parameters.")
@click.option("--params/--no-params", default=None, help="Parameters as boxes, or not at all; default: lines in boxes.")
@click.option("--keep", multiple=True, metavar="PATTERN", help="Never fold nodes with this name, module, leaf or line.")
@click.option("--focus", metavar="NODE", help="Only what is around a node: #place, id, name, leaf or FILE:LINE.")
@click.option(
    "--radius", type=click.IntRange(min=0), default=RADIUS, show_default=True, help="How many edges around it."
)
@click.option("--step", type=click.IntRange(min=1), metavar="N", help="Open the Nth step of repeats, as the first is.")
@click.option("--level", type=click.IntRange(min=0), metavar="K", help="Only nodes of this torch.func level; 0: none.")
@click.option("--show", default="", metavar="WHAT,...", callback=shown, help=f"Say more: {SHOWN}, or all.")
@drawing.shared
@pages.others
@pages.source
@options.output
@options.force
@click.option(
    "--color",
    type=click.Choice([*options.WHETHER_TO_COLOR, *QUANTITIES]),
    default="auto",
    show_default=True,
    help=f"Colour boxes by {', '.join(QUANTITIES)}; or text: auto: on a terminal, unless NO_COLOR is set.",
)
@options.quiet
def command(
    recording: str | None,
    fmt: str | None,
    backward: int | None,
    show: frozenset[Show],
    output: str | None,
    force: bool,
    color: str,
    quiet: bool,
    **chosen: Any,
) -> None:
    """Draw the graph that a backward call ran through.

    Without a RECORDING, the newest in the working directory (or $GRADSCOPE_DIR) is read.
    """
    options.check_output(output, force)
    format = choose(fmt, output)
    quantity = QUANTITIES.get(color)
    if quantity is not None and not format.draws:
        raise UsageError(f"--color {color} is for pictures and pages", "choose one with -o graph.svg or --fmt svg")
    style = drawing.style(chosen, quiet)
    with options.open_recording(recording, quiet) as opened, waiting(quiet) as doing, paused():
        if format is FORMATS["html"] and chosen["level"] is None:  # a page shows more than its one graph
            unused = _given("show", "direction", "engine")
            if unused and not quiet:
                options.talk(f"a page shows everything and draws itself: {_flags(unused)} not used")
            result: str | bytes = _page(opened, backward, {**chosen, "color": quantity and color}, doing)
        else:
            whole = ordered(opened.graph(backward))
            graph = _chosen(whole, chosen["level"])
            doing("looking for findings")
            found = _findings(opened, whole, chosen["level"], format, show)
            asked = quantity is not None or Show.GRADS in show
            measured = _measured(opened, whole, chosen["level"], found) if asked else Measured()
            scene = Scene(
                graph=graph,
                run=opened.run(),
                recording=str(opened.path),
                rules=_rules(graph, chosen),
                width=options.page_width(output),
                color=options.wants_color(color, output),
                show=show,
                findings=found,
                gradients=measured.gradients,
                style=style,
                heat=None if quantity is None else heat(quantity, graph, measured),
            )
            doing(f"drawing {len(graph.nodes):,} nodes")
            result = format.render(scene)
    options.deliver(result, output, quiet)


def _page(opened: Recording, backward: int | None, chosen: dict[str, Any], doing: Callable[[str], None]) -> str:
    """The page, which begins as the rules say; its reader opens and folds as they like."""
    from gradscope.render.html import page  # loaded where one is written

    story = pages.gather(opened, backward, chosen["others"], chosen["source"], doing)
    theme = chosen["theme"] if "theme" in _given("theme") and chosen["theme"] in THEMES else None
    return page(replace(story, rules=_rules(story.scene.graph, chosen), theme=theme, color=chosen["color"]))


def _given(*names: str) -> list[str]:
    """Those of the command's options that somebody gave a value."""
    context = click.get_current_context()
    return [name for name in names if context.get_parameter_source(name) is not ParameterSource.DEFAULT]


def _flags(names: list[str]) -> str:
    """`--show is`, `--show and --engine are`."""
    return " and ".join(f"--{name}" for name in names) + (" is" if len(names) == 1 else " are")


def _chosen(graph: Graph, level: int | None) -> Graph:
    """The whole graph, or what belongs to one level. Raises NothingCheckedError when nothing does."""
    if level is None:
        return graph
    found = of_level(graph, level)
    if not found.nodes:
        sentence = f"no node of backward {graph.backward.number} belongs to level {level}"
        raise NothingCheckedError(sentence, "`gradscope levels` lists the levels")
    return found


def _findings(
    opened: Recording, graph: Graph, level: int | None, format: Format, show: frozenset[Show]
) -> tuple[Finding, ...]:
    """Those about this backward call, with the nodes that they point at, numbered as in what is drawn of it.

    In pictures, whose nodes stay open, also when nobody asked, as far as it is quick.
    """
    asked = Show.FINDINGS in show
    if not asked and not format.draws:
        return ()
    drawn = _numbers(graph, level)
    found = (one for one in pages.explained(opened, pointing=not asked) if one.backward == graph.backward.number)
    return tuple(
        replace(one, node=None if one.node is None else drawn[one.node])
        for one in found
        if one.node is None or one.node in drawn
    )


def _measured(opened: Recording, graph: Graph, level: int | None, findings: tuple[Finding, ...]) -> Measured:
    """What was measured at the nodes that are drawn of a graph, numbered as these are."""
    number, drawn = graph.backward.number, _numbers(graph, level)
    runs, gradients = opened.node_runs(number), opened.gradients(number)
    return Measured(
        tuple(replace(one, node=drawn[one.node]) for one in runs if one.node in drawn),
        tuple(replace(one, node=drawn[one.node]) for one in gradients if one.node in drawn),
        findings,
        updated(opened, number),
    )


def _numbers(graph: Graph, level: int | None) -> dict[int, int]:
    """The numbers of nodes in what is drawn of a graph."""
    return {node.id: node.id for node in graph.nodes} if level is None else numbers_of_level(graph, level)


def _rules(graph: Graph, chosen: dict[str, Any]) -> Rules:
    """How to reduce. Raises UsageError when a name means nothing."""
    keep = {node for pattern in chosen["keep"] for node in match(graph, pattern)}
    focus = None
    if chosen["focus"] is not None:
        places = {node.id: node.order for node in graph.nodes if node.order is not None}
        focus = find_one(graph, chosen["focus"], places).id
    return Rules(
        depth=chosen["depth"],
        fold=not chosen["no_fold"],
        params=chosen["params"],
        keep=frozenset(keep),
        focus=focus,
        radius=chosen["radius"],
        step=chosen["step"],
    )
