"""The formats of `gradscope graph`: this table is all that its options, its help and its docs know of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from gradscope.errors import UsageError
from gradscope.render import text
from gradscope.render.drawn import DRAWN, Drawn
from gradscope.render.late import late
from gradscope.view.scene import Scene


@dataclass(frozen=True, slots=True)
class Format:
    """A way to write a scene. `needs` names what must be installed, if anything; `draws` tells pictures from words."""

    name: str
    suffix: str
    help: str
    render: Callable[[Scene], str | bytes]
    needs: str = ""
    draws: bool = False


def _drawing(form: Drawn) -> Format:
    """A format that draws."""
    fitted = late("fit", "fitted")
    return Format(
        form.name, form.suffix, form.help, lambda scene: form.write(fitted(scene), scene.style), form.needs, True
    )


FORMATS = {
    format.name: format
    for format in (
        Format("text", ".txt", "a tree by module call, for a terminal", text.render),
        Format("json", ".json", "the whole graph, unreduced, for programs", late("json", "render")),
        *map(_drawing, DRAWN.values()),
        Format(
            "html",
            ".html",
            "a page for the browser, in one file that works offline",
            late("html", "render"),
            draws=True,
        ),
    )
}


def choose(name: str | None, output: str | None) -> Format:
    """The format that was named, else the one of the output's suffix, else text."""
    if name is not None:
        return FORMATS[name]
    suffix = Path(output).suffix.lower() if output and output != "-" else ""
    if not suffix:
        return FORMATS["text"]
    for candidate in FORMATS.values():
        if candidate.suffix == suffix:
            return candidate
    known = ", ".join(candidate.suffix for candidate in FORMATS.values())
    raise UsageError(f"no format is known for {suffix} files", f"use one of {known}, or name the format with --fmt")
