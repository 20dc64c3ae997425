"""Drawings keep every node somewhere and every connection visible."""

from __future__ import annotations

import pytest

from gradscope.model.graph import Edge, Graph, Node
from gradscope.view.draw import MOST_BOXES, draw
from gradscope.view.drawing import Arrow, Drawing
from gradscope.view.role import Role
from gradscope.view.words import TIMES
from tests import by_hand

FOLDED = f"⋮ 22{TIMES} same Block: h.22 … h.1 (1,430 nodes)"


def drawn(graph: Graph, depth: int | None = None) -> Drawing:
    return draw(by_hand.scene(graph, depth=depth))


def test_closed_groups_merge_their_arrows() -> None:
    drawing = drawn(by_hand.small(), depth=1)
    assert [box.title for box in drawing.boxes] == ["MeanBackward0", "Net", "PowBackward0"]
    assert drawing.arrows == (Arrow(0, 1), Arrow(1, 2))
    assert drawing.boxes[1].notes == ("5 nodes · 2 params · saves 224 B",)


def test_several_edges_are_one_arrow() -> None:
    graph = by_hand.measured([Node(0, "A", 2), Node(1, "B", 1)], [Edge(0, 1, 0, 0), Edge(0, 1, 1, 1)])
    assert drawn(graph).arrows == (Arrow(0, 1, 2),)


def test_open_groups_nest() -> None:
    drawing = drawn(by_hand.small())
    assert [cluster.title for cluster in drawing.clusters] == ["Net", "linear  Linear"]
    assert drawing.clusters[1].around == 0
    assert drawing.boxes[0].cluster is None


def test_roles() -> None:
    boxes = {box.title: box.roles for box in drawn(by_hand.small()).boxes}
    assert boxes["MeanBackward0"] == {Role.ROOT, Role.HOOKED}
    assert boxes["SwishBackward"] == {Role.CUSTOM, Role.SAVED}
    assert boxes["PowBackward0"] == {Role.IDLE}
    assert boxes["TBackward0"] == {Role.VIEW}
    assert boxes["AccumulateGrad"] == {Role.ACCUMULATE}


def test_repeats_show_the_first_the_rest_and_the_last() -> None:
    drawing = drawn(by_hand.transformer(), depth=2)
    titles = [box.title for box in drawing.boxes]
    assert FOLDED in titles
    assert {"h.23", "h.0"} < set(titles)
    folded = titles.index(FOLDED)
    assert {arrow.head for arrow in drawing.arrows if arrow.tail == folded} == {titles.index("h.0")}


@pytest.mark.parametrize("length", [MOST_BOXES + 2, 10_000])
def test_long_chains_are_one_box_between_their_ends(length: int) -> None:
    drawing = drawn(by_hand.chain(length))
    assert len(drawing.boxes) == 2
    assert drawing.arrows == (Arrow(0, 1),)
    assert drawing.boxes[1].notes == (f"{length - 1:,} nodes in a row",)


def test_chains_stop_at_branches() -> None:
    length = 400
    nodes = list(by_hand.chain(length).nodes)
    edges = [Edge(number, number + 1) for number in range(length - 1)] + [Edge(100, 300, 1)]
    drawing = drawn(by_hand.measured(nodes, edges))
    assert len(drawing.arrows) == len(drawing.boxes) == 4


def test_every_arrow_and_cluster_leads_somewhere() -> None:
    for graph in (by_hand.small(), by_hand.transformer(), by_hand.hostile(), by_hand.chain(500)):
        drawing = drawn(graph)
        places = range(len(drawing.boxes))
        assert all(arrow.tail in places and arrow.head in places for arrow in drawing.arrows)
        assert all(cluster.around is None or cluster.around < number for number, cluster in enumerate(drawing.clusters))
