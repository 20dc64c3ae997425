"""The predicted run of a backward beside the recorded one: every difference."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from gradscope.engine.order import Prediction, predict
from gradscope.model.graph import Graph, OrderSource


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that was not as predicted. Positions are None where the node does not run."""

    what: str
    node: int
    predicted: int | None
    recorded: int | None


@dataclass(frozen=True, slots=True)
class Move:
    """A node that another order runs at another place."""

    node: int
    before: int
    after: int


def measured_order(graph: Graph) -> tuple[int, ...] | None:
    """The recorded order; None when it was not measured."""
    if graph.backward.order_source is not OrderSource.MEASURED:
        return None
    ran = sorted((node.order, node.id) for node in graph.nodes if node.order is not None)
    return tuple(node for _, node in ran)


def differences(graph: Graph, prediction: Prediction | None = None) -> tuple[Difference, ...]:
    """Compare with the measured order; nothing when there is none.

    A backward that raised is compared up to there. Where torch leaves the order to chance (several devices), only a
    node that runs before all of its gradients have come counts.
    """
    recorded = measured_order(graph)
    if recorded is None:
        return ()
    prediction = prediction or predict(graph)
    expected = prediction.order
    if graph.backward.exception is not None:
        expected = expected[: len(recorded)]
    found = _presence(expected, recorded)
    if found:
        return found
    return _places(expected, recorded) if prediction.exact else _too_early(graph, prediction, recorded)


def moves(before: Sequence[int], after: Sequence[int]) -> tuple[Move, ...]:
    """The nodes whose place in the order changes, by their new place."""
    places = {node: position for position, node in enumerate(before)}
    return tuple(
        Move(node, places[node], position)
        for position, node in enumerate(after)
        if node in places and places[node] != position
    )


def _presence(expected: Sequence[int], recorded: Sequence[int]) -> tuple[Difference, ...]:
    wanted = {node: position for position, node in enumerate(expected)}
    ran = {node: position for position, node in enumerate(recorded)}
    missing = [Difference("did not run", node, place, None) for node, place in wanted.items() if node not in ran]
    more = [Difference("ran all the same", node, None, place) for node, place in ran.items() if node not in wanted]
    return (*missing, *more)


def _places(expected: Sequence[int], recorded: Sequence[int]) -> tuple[Difference, ...]:
    places = {node: position for position, node in enumerate(recorded)}
    return tuple(
        Difference("ran at another place", node, position, places[node])
        for position, node in enumerate(expected)
        if places[node] != position
    )


def _too_early(graph: Graph, prediction: Prediction, recorded: Sequence[int]) -> tuple[Difference, ...]:
    places = {node: position for position, node in enumerate(recorded)}
    sources: dict[int, list[int]] = defaultdict(list)
    for edge in graph.edges:
        if (edge.source, edge.output) in prediction.edges and edge.target in places:
            sources[edge.target].append(places[edge.source])
    return tuple(
        Difference("ran before all of its gradients had come", node, None, places[node])
        for node, before in sources.items()
        if max(before) > places[node]
    )
