"""A part of a graph is a graph."""

from dataclasses import replace

from gradscope.graphs.part import of_level, part
from gradscope.model.graph import Root
from tests import by_hand

GRAPH = by_hand.small()


def test_everything_is_the_graph_itself():
    assert part(GRAPH, lambda node: True) == GRAPH


def test_nodes_are_numbered_anew_and_keep_their_order():
    found = part(GRAPH, lambda node: node.accumulates or node.name == "AddmmBackward0")
    assert [(node.id, node.order) for node in found.nodes] == [(0, 2), (1, 3), (2, 5)]
    assert [(edge.source, edge.target) for edge in found.edges] == [(0, 1)]


def test_firings_and_inputs_elsewhere_are_left_out():
    graph = replace(GRAPH, backward=replace(GRAPH.backward, inputs=(Root(3), Root(5))))
    found = part(graph, lambda node: node.id == 5)
    assert found.backward.inputs == (Root(0),)
    assert (found.firings, found.roots) == ((), ())


def test_a_node_belongs_to_its_innermost_level():
    assert [node.name for node in of_level(GRAPH, 2).nodes] == ["AddmmBackward0"]
    assert len(of_level(GRAPH, 0).nodes) == len(GRAPH.nodes) - 1
