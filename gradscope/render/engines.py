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

ENGINES = ("auto", "dot", "pure", "builtin")
MOST_BOXES = {"dot": 300, "pure": 1000}  # more take them longer than anyone waits
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
    labels = [width(shorten(cluster.title), NOTE, bold=True) * 1.06 for cluster in drawing.clusters]
    for engine, program in programs(style, len(drawing.boxes)):
        if engine in without:
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


def programs(style: Style, boxes: int) -> Iterator[tuple[str, str]]:
    """The Graphviz engines to try, with their programs. Raises UsageError when the one asked for is not there."""
    if style.engine in NAMES:
        program = find(style.engine)
        if program is None:
            sentence = f"--engine {style.engine} needs {NAMES[style.engine]}, which is not installed or does not start"
            raise UsageError(sentence, f"{INSTALL[style.engine]}, or leave --engine away")
        yield style.engine, program
    elif style.engine == "auto":
        for engine, most in MOST_BOXES.items():
            program = find(engine) if boxes <= most else None
            if program is not None:
                yield engine, program


def tell(style: Style, engine: str, drawing: Drawing) -> None:
    """Say which engine drew."""
    style.say(f"{engine} drew {amount(len(drawing.boxes), 'box')}")


def refuse(style: Style, engine: str, error: EngineFailed) -> None:
    """An engine that was asked for must not fail; of one that was not, say that it did."""
    if style.engine == engine:
        raise UsageError(
            f"{NAMES[engine]} {error}", "close more groups with --depth, or use --engine builtin"
        ) from error
    style.say(f"{NAMES[engine]} {error}")
