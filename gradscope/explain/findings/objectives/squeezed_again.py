"""GS807, met in the model: a sigmoid of what a sigmoid or a softmax has given."""

from __future__ import annotations

from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.lines.module_builds import chosen_at
from gradscope.explain.deductions.numbers.doubled_activations import Row, behind, doubled, following
from gradscope.explain.evidence.case import Case
from gradscope.model.finding import Related, Severity
from gradscope.model.graph import Graph, Node

_SIGMOID, _SCORED = "SigmoidBackward", "BinaryCrossEntropyBackward"
_WANTS_SCORES: tuple[Row, ...] = (
    (_SIGMOID, 0, (_SIGMOID, "SoftmaxBackward"), "of numbers from 0 to 1 it gives 0.5 to 0.73, and nothing else"),
    ("LogSigmoidBackward", 0, (_SIGMOID, "SoftmaxBackward"), "its logarithm is that of 0.5 to 0.73, and nothing else"),
)


def squeezed_again(case: Case) -> Iterator[Cause]:
    """Sigmoids of probabilities: wrong where a binary cross entropy reads them, and else a hint, as of a gate."""
    told = set()
    for graph, node, other, why in doubled(case, _WANTS_SCORES):
        site, called = chosen_at(case, node)
        if site is not None and site not in told:
            told.add(site)
            first = () if other.site in (None, site) else (Related("called_at", other.site, "gives probabilities"),)
            yield Cause(
                f"a sigmoid is taken of probabilities: {why}",
                site,
                (*called, *first),
                severity=None if _is_scored(graph, node) else Severity.INFO,
                node=node.id,
                backward=graph.backward.number,
            )


def _is_scored(graph: Graph, node: Node) -> bool:
    """Whether a binary cross entropy takes what a node gave for probabilities."""
    ways = following(graph)
    return any(behind(graph, ways, one, 0) is node for one in graph.nodes if one.name.startswith(_SCORED))
