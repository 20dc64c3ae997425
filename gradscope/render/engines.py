"""Which engine lays a picture out: Graphviz's `dot`, its port from pip, or the built-in one, the first that can."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gradscope.errors import UsageError
from gradscope.render.layout import graphviz_layout, nested
from gradscope.render.layout.geometry import Layout
from gradscope.render.metrics import shorten, width
from gradscope.render.panel import NOTE
from gradscope.render.programs import NAMES, EngineFailed, find
from gradscope.view.drawing import Drawing
from gradscope.view.style import Style
from gradscope.view.words import amount

MOST_BOXES = 300  # of create_graph chains and of tangles made at random, Graphviz draws as many in less than a second
MOST_ARROWS = 600
MANY = 5_000
INSTALL = {
    "dot": "install Graphviz (`apt-get install graphviz`, `brew install graphviz`)",
    "pure": "install it with `pip install graphviz-pure`",
}


def lay_out(
    drawing: Drawing, sizes: Sequence[tuple[float, float]], style: Style, without: tuple[str, ...] = ()
) -> Layout:
    """Places for boxes of these sizes; says which engine found them. Raises UsageError when the one asked for fails.

    Engines `without` which it is to be done are not tried.
    """
    labels = _labels(drawing)
    for engine, program in programs(style):
        if engine in without or (style.engine == "auto" and is_large(drawing)):
            continue
        try:
            found = graphviz_layout.lay_out(program, drawing, sizes, labels, style.direction)
        except EngineFailed as error:
            refuse(style, engine, error)
            continue
        tell(style, NAMES[engine], drawing)
        return found
    tell(style, "the built-in layout", drawing)
    return nested.lay_out(drawing, sizes, labels, style.direction)


def in_rows(drawing: Drawing, sizes: Sequence[tuple[float, float]], style: Style, beside: int) -> Layout:
    """The built-in layout, with rows of what else would be more than so many side by side."""
    return nested.lay_out(drawing, sizes, _labels(drawing), style.direction, beside)


def _labels(drawing: Drawing) -> list[float]:
    """How wide the names of clusters are."""
    return [width(shorten(cluster.title), NOTE, bold=True) * 1.06 for cluster in drawing.clusters]


def programs(style: Style) -> Iterator[tuple[str, str]]:
    """The Graphviz engines to try, with their programs. Raises UsageError when the one asked for is not there."""
    if style.engine in NAMES:
        program = find(style.engine)
        if program is None:
            sentence = f"--engine {style.engine} needs {NAMES[style.engine]}, which is not installed or does not start"
            raise UsageError(sentence, f"{INSTALL[style.engine]}, or leave --engine away")
        yield style.engine, program
    elif style.engine == "auto":
        for engine in NAMES:
            program = find(engine)
            if program is not None:
                yield engine, program


def is_large(drawing: Drawing) -> bool:
    """Whether Graphviz would take longer than anyone waits for what the built-in layout does at once."""
    return len(drawing.boxes) > MOST_BOXES or len(drawing.arrows) > MOST_ARROWS


def tell(style: Style, engine: str, drawing: Drawing) -> None:
    """Say which engine drew, and what helps when there is too much to look at."""
    style.say(f"{engine} drew {amount(len(drawing.boxes), 'box')}")
    if len(drawing.boxes) > MANY:
        style.say("few programs show so large a picture well: --depth, --focus and --fmt html show parts")


def refuse(style: Style, engine: str, error: EngineFailed) -> None:
    """An engine that was asked for must not fail; of one that was not, say that it did."""
    if style.engine == engine:
        raise UsageError(
            f"{NAMES[engine]} {error}", "close more groups with --depth, or use --engine builtin"
        ) from error
    style.say(f"{NAMES[engine]} {error}")
