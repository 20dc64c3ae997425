"""A recorded backward, told step by step: the engine's moments with what was recorded of each node."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from gradscope.engine.change import with_inputs, with_priorities
from gradscope.engine.compare import Difference, Move, differences, measured_order, moves
from gradscope.engine.needs import Sum, sums
from gradscope.engine.order import Prediction, predict
from gradscope.engine.replay import Moment, moments
from gradscope.engine.waste import Waste, waste
from gradscope.model.graph import Backward, Graph, Node
from gradscope.model.hook import Firing, Hook
from gradscope.model.run import Run
from gradscope.model.statistics import GradientStatistics, NodeRun


@dataclass(frozen=True, slots=True)
class Recorded:
    """What a recording holds of one backward.

    `operators` are (node, name) in the order in which they ran, `hooks` those that were there when it began, `updates`
    shares of elements that the next steps changed, by parameter.
    """

    graph: Graph
    runs: tuple[NodeRun, ...] = ()
    gradients: tuple[GradientStatistics, ...] = ()
    operators: tuple[tuple[int | None, str], ...] = ()
    nested: tuple[Backward, ...] = ()
    hooks: tuple[Hook, ...] = ()
    updates: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class NodeRecord:
    """What was recorded of a node while it ran."""

    received: tuple[GradientStatistics, ...] = ()
    passed: tuple[GradientStatistics, ...] = ()
    firings: tuple[Firing, ...] = ()
    operators: tuple[str, ...] = ()
    seconds: float | None = None
    nested: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class ReplayStep:
    """One moment of the backward."""

    moment: Moment
    node: Node
    details: NodeRecord


@dataclass(frozen=True, slots=True)
class Replay:
    """The whole story. `moves` are what `inputs` and `priorities`, if any, change in the order."""

    graph: Graph
    run: Run
    recording: str
    prediction: Prediction
    measured: bool
    differences: tuple[Difference, ...]
    moves: tuple[Move, ...]
    sums: tuple[Sum, ...]
    waste: Waste | None
    steps: tuple[ReplayStep, ...]
    inputs: tuple[int, ...] | None
    priorities: tuple[tuple[int, int], ...]

    @property
    def places(self) -> dict[int, int]:
        """The place of each node that runs."""
        return {step.node.id: step.moment.position for step in self.steps if step.moment.position is not None}


def replay(
    recorded: Recorded,
    run: Run,
    recording: str,
    inputs: tuple[int, ...] | None = None,
    priorities: Mapping[int, int] | None = None,
) -> Replay:
    """Tell a backward as it was recorded, or as it would have been with other inputs and priorities."""
    graph = recorded.graph if inputs is None else with_inputs(recorded.graph, inputs)
    graph = with_priorities(graph, priorities) if priorities else graph
    prediction, order = predict(graph), measured_order(graph)
    details = _details(recorded) if inputs is None else {}
    seen = _computed(recorded) if graph is recorded.graph else None
    return Replay(
        graph=graph,
        run=run,
        recording=recording,
        prediction=prediction,
        measured=order is not None,
        differences=differences(graph, prediction),
        moves=() if graph is recorded.graph else moves(predict(recorded.graph).order, prediction.order),
        sums=sums(graph, prediction.order if order is None else order, prediction),
        waste=None if graph.backward.inputs is None else waste(graph, prediction, recorded.runs, seen),
        steps=tuple(
            ReplayStep(moment, graph.nodes[moment.node], details.get(moment.node, NodeRecord()))
            for moment in moments(graph, prediction, order)
        ),
        inputs=inputs,
        priorities=tuple((priorities or {}).items()),
    )


def _details(recorded: Recorded) -> dict[int, NodeRecord]:
    sides: dict[tuple[int, str], list[GradientStatistics]] = defaultdict(list)
    firings: dict[int, list[Firing]] = defaultdict(list)
    operators: dict[int, list[str]] = defaultdict(list)
    for one in recorded.gradients:
        sides[one.node, one.side].append(one)
    for firing in recorded.graph.firings:
        if firing.node is not None:
            firings[firing.node].append(firing)
    for node, name in recorded.operators:
        if node is not None:
            operators[node].append(name)
    seconds = {run.node: run.duration for run in recorded.runs}
    nested = _nested(recorded)
    return {
        node.id: NodeRecord(
            tuple(sides[node.id, "in"]),
            tuple(sides[node.id, "out"]),
            tuple(firings[node.id]),
            tuple(operators[node.id]),
            seconds.get(node.id),
            tuple(nested[node.id]),
        )
        for node in recorded.graph.nodes
    }


def _nested(recorded: Recorded) -> dict[int, list[int]]:
    """The backwards that started inside each node, told by the clock."""
    found: dict[int, list[int]] = defaultdict(list)
    for inner in recorded.nested:
        began = inner.started - recorded.graph.backward.started
        for run in recorded.runs:
            if run.started <= began <= run.started + run.duration:
                found[run.node].append(inner.number)
    return found


def _computed(recorded: Recorded) -> frozenset[tuple[int, int]] | None:
    """The gradients that were seen to come out of nodes."""
    found = frozenset((one.node, one.index) for one in recorded.gradients if one.side == "out")
    return found or None
