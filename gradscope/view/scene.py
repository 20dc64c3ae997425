"""All that a picture is made from."""

from __future__ import annotations

from dataclasses import dataclass

from gradscope.model.graph import Graph
from gradscope.model.run import Run


@dataclass(frozen=True, slots=True)
class Scene:
    """A graph, the run it comes from, and how much of it to show.

    `recording` is the file's path, `depth` None lets the view choose. `width` and `color` matter only to text.
    """

    graph: Graph
    run: Run
    recording: str
    depth: int | None = None
    width: int = 120
    color: bool = False
