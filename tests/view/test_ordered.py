"""Orders are measured or predicted, never mixed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gradscope.model.graph import Graph, OrderSource
from gradscope.view import ordered as room
from gradscope.view.ordered import ordered
from tests import by_hand


def unordered(graph: Graph) -> Graph:
    backward = replace(graph.backward, order_source=OrderSource.PREDICTED)
    return replace(graph, nodes=tuple(replace(node, order=None) for node in graph.nodes), backward=backward)


def test_a_measured_order_stays() -> None:
    assert ordered(by_hand.small()) == by_hand.small()


def test_a_predicted_order_is_filled_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "running_order", lambda graph: (2, 0))
    graph = ordered(unordered(by_hand.chain(3)))
    assert [node.order for node in graph.nodes] == [1, None, 0]


def test_a_chain_is_predicted_as_it_runs() -> None:
    assert ordered(unordered(by_hand.chain(20))).nodes == by_hand.chain(20).nodes
