"""Recordings for programs and notebooks: what the reading commands answer, as objects."""

from __future__ import annotations

import os
from collections.abc import Iterable
from copy import copy
from dataclasses import dataclass, field, replace

from gradscope.anomaly import explain
from gradscope.errors import UsageError
from gradscope.graphs.rules import Rules
from gradscope.model.finding import Finding
from gradscope.model.graph import Graph
from gradscope.model.run import Run
from gradscope.model.statistics import GradientStatistics
from gradscope.render.formats import FORMATS
from gradscope.store import reader
from gradscope.view.ordered import ordered
from gradscope.view.scene import Scene, Show
from gradscope.view.style import Direction, Style
from gradscope.view.theme import THEMES


@dataclass(frozen=True, slots=True, eq=False)
class RecordedGraph(Graph):
    """The graph of a backward call that knows where it comes from, so that a notebook shows it as a picture."""

    run: Run | None = field(default=None, repr=False)
    recording: str = field(default="", repr=False)
    gradients: tuple[GradientStatistics, ...] = field(default=(), repr=False)

    def draw(
        self,
        fmt: str = "svg",
        *,
        depth: int | None = None,
        fold: bool = True,
        params: bool | None = None,
        show: Iterable[str] = (),
        theme: str = "light",
        direction: str = "down",
        engine: str = "auto",
    ) -> str | bytes:
        """The picture in one of the formats of `gradscope graph`, whose options these are; bytes for pdf and png.

        Findings are `Recording.findings`: here none is marked.
        """
        if self.run is None:
            raise UsageError("this graph does not know the run that it comes from", "take it from Recording.graph")
        try:
            rules = Rules(depth=depth, fold=fold, params=params)
            style = Style(THEMES[theme], direction=Direction(direction), engine=engine)
            told = frozenset(map(Show, show))
            form = FORMATS[fmt]
        except (KeyError, ValueError) as error:
            raise UsageError(f"there is no {error}", "the values are those of `gradscope graph --help`") from error
        own = ordered(replace(self, nodes=tuple(map(copy, self.nodes))))  # the caller's nodes stay as they were read
        scene = Scene(own, self.run, self.recording, rules, show=told, gradients=self.gradients, style=style)
        return form.render(scene)

    def _repr_svg_(self) -> str:
        """What Jupyter shows."""
        return str(self.draw())


class Recording(reader.Recording):
    """An open recording that also says what went wrong in it, and whose graphs show themselves in notebooks."""

    def graph(self, number: int | None = None) -> RecordedGraph:
        """The graph of a backward call; without a number, of the last outermost call that reached one."""
        graph = super().graph(number)
        about = {name: getattr(graph, name) for name in Graph.__slots__}
        measured = self.gradients(graph.backward.number)
        return RecordedGraph(**about, run=self.run(), recording=str(self.path), gradients=measured)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What is wrong with the run, the most likely cause first."""
        return explain(self).findings


def load(path: str | os.PathLike[str] | None = None) -> Recording:
    """Open a recording; without a path, the newest in $GRADSCOPE_DIR or the working directory."""
    return Recording(reader.open_recording(path))
