"""Every difference between the predicted and the recorded run."""

from __future__ import annotations

from dataclasses import replace

from gradscope.engine.compare import Difference, differences
from gradscope.model.graph import Graph, OrderSource
from tests.engine.test_order import DIAMOND, SEQ_NRS, graph


def measured(order: tuple[int, ...], whole: Graph | None = None, exception: str | None = None) -> Graph:
    whole = whole or graph(SEQ_NRS, DIAMOND)
    places = {node: position for position, node in enumerate(order)}
    nodes = tuple(replace(node, order=places.get(node.id)) for node in whole.nodes)
    backward = replace(whole.backward, order_source=OrderSource.MEASURED, exception=exception)
    return replace(whole, nodes=nodes, backward=backward)


def test_nothing_measured_nothing_to_compare() -> None:
    assert differences(graph(SEQ_NRS, DIAMOND)) == ()


def test_as_predicted() -> None:
    assert differences(measured((0, 2, 1, 3, 4))) == ()


def test_another_order() -> None:
    what = "ran at another place"
    assert differences(measured((0, 1, 2, 3, 4))) == (Difference(what, 2, 1, 2), Difference(what, 1, 2, 1))


def test_a_node_that_did_not_run_and_one_that_did() -> None:
    part = graph(SEQ_NRS, DIAMOND, roots=(1,))
    found = differences(measured((1, 3, 2), part))
    assert found == (Difference("did not run", 4, 2, None), Difference("ran all the same", 2, None, 2))


def test_a_backward_that_raised_is_compared_as_far_as_it_came() -> None:
    assert differences(measured((0, 2), exception="RuntimeError: x")) == ()


def test_on_several_devices_only_the_dependencies_count() -> None:
    devices = {1: "cuda:0", 3: "cuda:0"}
    whole = graph(SEQ_NRS, DIAMOND, devices=devices)
    assert differences(measured((0, 1, 2, 4, 3), whole)) == ()
    early = differences(measured((0, 3, 1, 2, 4), whole))
    assert early == (Difference("ran before all of its gradients had come", 3, None, 1),)
