"""The formats that any drawing can be written in, whatever it was drawn from: one table for all commands."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gradscope.render.late import late
from gradscope.view.drawing import Drawing
from gradscope.view.style import Style


@dataclass(frozen=True, slots=True)
class Drawn:
    """A way to write a drawing. `needs` names what must be installed, if anything."""

    name: str
    suffix: str
    help: str
    write: Callable[[Drawing, Style], str | bytes]
    needs: str = ""


DRAWN = {
    each.name: each
    for each in (
        Drawn("dot", ".dot", "Graphviz's language, for other tools", late("dot", "write")),
        Drawn("svg", ".svg", "a picture, for browsers and documents", late("svg", "picture")),
        Drawn("pdf", ".pdf", "a picture, for paper", late("pdf", "picture")),
        Drawn(
            "png",
            ".png",
            "a picture in pixels",
            late("png", "picture"),
            "Graphviz's `dot`, or `pip install graphviz-pure`",
        ),
        Drawn("mermaid", ".mmd", "a diagram for Markdown", late("mermaid", "picture")),
    )
}
