"""All that a page is made from: one backward call in front, others to switch to, and what is known of the run."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from gradscope.graphs.rules import DEFAULT, Rules
from gradscope.model.finding import Finding
from gradscope.model.graph import Graph
from gradscope.model.run import Run
from gradscope.view.replay import Recorded
from gradscope.view.scene import Scene


@dataclass(frozen=True, slots=True)
class Story:
    """`backwards` stand by their numbers, their graphs ordered; `chosen` is the number of the one in front.

    `alike` gives, for each of them, the number of the first one that has the same graph. `sources` are texts by file,
    empty when they are not to be shown. `left_out` counts the backward calls that the page does not hold. `rules` say
    how the one in front looks at first: how deep it is open, what is folded, which node is chosen. `theme` is the paper
    at first, light or dark; None: what the reader's system prefers. `color` names the quantity that colours boxes.
    `steps` are number, loss and gradient norm of the run's backward calls.
    """

    backwards: tuple[Recorded, ...]
    chosen: int
    run: Run
    recording: str
    alike: tuple[int, ...] = ()
    findings: tuple[Finding, ...] = ()
    sources: dict[str, str] = field(default_factory=dict)
    left_out: int = 0
    rules: Rules = DEFAULT
    theme: str | None = None
    color: str | None = None
    steps: tuple[tuple[int, float | None, float | None], ...] = ()

    @property
    def scene(self) -> Scene:
        """The backward call in front, as other formats know it."""
        graph = next(one.graph for one in self.backwards if one.graph.backward.number == self.chosen)
        return Scene(graph, self.run, self.recording)


def story_of(scene: Scene) -> Story:
    """What a scene alone can tell: its graph."""
    recorded = Recorded(scene.graph, gradients=scene.gradients)
    color = None if scene.heat is None else scene.heat.quantity.name
    number = scene.graph.backward.number
    return Story(
        (recorded,), number, scene.run, scene.recording, findings=scene.findings, rules=scene.rules, color=color
    )


def without_places(findings: tuple[Finding, ...], graphs: dict[int, Graph]) -> tuple[Finding, ...]:
    """The findings, with no node where the page does not hold it. `graphs` are those of the page, by backward call."""
    return tuple(one if _is_held(one, graphs) else replace(one, node=None) for one in findings)


def _is_held(finding: Finding, graphs: dict[int, Graph]) -> bool:
    if finding.node is None or finding.backward not in graphs:
        return False
    return 0 <= finding.node < len(graphs[finding.backward].nodes)
