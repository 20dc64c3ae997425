"""All that a picture is made from."""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace

from gradscope.graphs.rules import DEFAULT, Rules
from gradscope.model.finding import Finding
from gradscope.model.graph import Graph
from gradscope.model.run import Run
from gradscope.model.statistics import GradientStatistics
from gradscope.view.heat import Heat
from gradscope.view.style import PLAIN, Style


class Show(enum.Enum):
    """What a picture may say beyond names, types, lines and counts."""

    SAVED = "saved"
    HOOKS = "hooks"
    ORDER = "order"
    GRADS = "grads"
    LEVELS = "levels"
    FINDINGS = "findings"


@dataclass(frozen=True, slots=True)
class Scene:
    """A graph, the run it comes from, and how much of it to show.

    `recording` is the file's path. `width` and `color` matter only to text, `style` only to pictures. `findings` are
    those about this backward call, `gradients` what was measured in it, `heat` the quantity that boxes are coloured by.
    """

    graph: Graph
    run: Run
    recording: str
    rules: Rules = DEFAULT
    width: int = 120
    color: bool = False
    show: frozenset[Show] = frozenset()
    findings: tuple[Finding, ...] = ()
    gradients: tuple[GradientStatistics, ...] = ()
    style: Style = PLAIN
    heat: Heat | None = None

    @property
    def reduction(self) -> Rules:
        """Its rules, extended to show the nodes that findings point at."""
        pointed = {finding.node for finding in self.findings if finding.node is not None}
        return replace(self.rules, keep=self.rules.keep | pointed)
