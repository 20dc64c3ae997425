"""Drawings say of every box what it is, in words and roles."""

from __future__ import annotations

from dataclasses import replace

from gradscope.graphs.rules import Rules
from gradscope.model.finding import Finding, Severity
from gradscope.model.graph import Edge, Graph, Level, Node
from gradscope.model.statistics import GradientStatistics
from gradscope.model.tensor import SavedTensor
from gradscope.view.draw import draw
from gradscope.view.drawing import Arrow, Box, Drawing, Row
from gradscope.view.role import Role
from gradscope.view.scene import Show
from gradscope.view.words import TIMES
from tests import by_hand


def drawn(graph: Graph, depth: int | None = None, **about: object) -> Drawing:
    return draw(by_hand.scene(graph, depth=depth, **about))


def box(drawing: Drawing, title: str) -> Box:
    return next(box for box in drawing.boxes if box.title == title)


def rows(drawing: Drawing, title: str) -> list[tuple[str, Role]]:
    return [(row.text, row.role) for row in box(drawing, title).rows]


def test_a_box_says_type_views_line_and_has_rows_for_the_rest() -> None:
    addmm = box(drawn(by_hand.small()), "AddmmBackward0")
    assert addmm.notes == ("Net.linear · Linear", "float32[8, 4]", "+ 1 view", "train.py:20")
    assert addmm.rows == (
        Row("saves 96 B", Role.SAVED),
        Row("bias  float32[4]", Role.ACCUMULATE),
        Row("weight  float32[4, 3]", Role.ACCUMULATE),
    )


def test_closed_groups_say_their_totals() -> None:
    closed = box(drawn(by_hand.transformer(), depth=2), "h.23")
    assert closed.notes == ("Block · 65 nodes",)
    assert closed.rows == (Row("saves 184 kB", Role.SAVED), Row("12 parameters", Role.ACCUMULATE))
    assert closed.roles == {Role.GROUP}


def test_repeats_say_what_they_are_like() -> None:
    folded = box(drawn(by_hand.transformer(), depth=2), f"⋮ 22{TIMES} same Block")
    assert folded.notes == ("h.22 … h.1 · 1,430 nodes",)


def test_parameters_that_many_use_are_named_where_they_are_few() -> None:
    """Four lines in each cell of a recurrent network left no room on a page for the step that is folded."""
    assert rows(drawn(by_hand.loop(60)), "MmBackward0")[0] == ("W  shared by 60", Role.ACCUMULATE)
    assert rows(drawn(by_hand.loop(60, parameters="WUbc")), "MmBackward0") == [
        ("4 parameters shared by 60", Role.ACCUMULATE)
    ]


def test_chains_and_crowds_say_what_is_in_them() -> None:
    assert drawn(by_hand.chain(10_000)).boxes[1] == Box(
        "⋮ 9,999 nodes in a row",
        (f"AddBackward0 {TIMES}3333", f"SinBackward0 {TIMES}3333", f"MulBackward0 {TIMES}3333"),
        frozenset({Role.FOLDED}),
    )
    crowd = box(drawn(by_hand.fan(2000)), f"⋮ 1,998{TIMES} MulBackward0")
    assert crowd.roles == {Role.FOLDED}


def test_several_edges_are_one_arrow() -> None:
    graph = by_hand.measured([Node(0, "A", 2), Node(1, "B", 1)], [Edge(0, 1, 0, 0), Edge(0, 1, 1, 1)])
    assert drawn(graph).arrows == (Arrow(0, 1, 2),)


def test_arrows_to_what_did_not_run_are_pruned() -> None:
    drawing = drawn(by_hand.small())
    pruned = [drawing.boxes[arrow.head].title for arrow in drawing.arrows if Role.PRUNED in arrow.roles]
    assert pruned == ["PowBackward0"]
    assert "did not run" in box(drawing, "PowBackward0").notes


def test_roles() -> None:
    boxes = {box.title: box.roles for box in drawn(by_hand.small()).boxes}
    assert boxes["MeanBackward0"] == {Role.ROOT}
    assert boxes["SwishBackward"] == {Role.CUSTOM, Role.SAVED}
    assert boxes["PowBackward0"] == {Role.IDLE}


def test_captions_say_what_was_folded() -> None:
    reading, folded = drawn(by_hand.small()).captions
    assert reading == "Arrows run in backward order, from the loss to the parameters."
    assert (
        folded == "4 of 7 nodes drawn one by one; 2 parameters in the boxes that use them, 1 view with its neighbour."
    )
    assert len(drawn(by_hand.chain(3)).captions) == 1


def test_show_saved_lists_tensors_and_show_hooks_lists_hooks() -> None:
    drawing = drawn(by_hand.small(), show=frozenset({Show.SAVED, Show.HOOKS}))
    assert rows(drawing, "SwishBackward") == [("x  float32[8, 4]  128 B", Role.SAVED)]
    assert rows(drawing, "MeanBackward0") == [("tensor hook main.<locals>.clip", Role.HOOKED)]


def test_tensors_whose_bytes_nothing_knows_are_counted() -> None:
    kept = tuple(SavedTensor(f"t{number}", by_hand.floats(2), 0, number) for number in range(2))
    drawing = drawn(by_hand.measured([Node(0, "A", 1, saved=kept)], []))
    assert rows(drawing, "A") == [("saves 2 tensors", Role.SAVED)]


def test_show_order_numbers_boxes() -> None:
    titles = [box.title for box in drawn(by_hand.small(), depth=1, show=frozenset({Show.ORDER})).boxes]
    assert titles == ["#0  MeanBackward0", "#1  Net", "#2-5  Net", "PowBackward0"]


def test_show_grads_says_norms_and_where_gradients_meet() -> None:
    nodes = [Node(number, f"N{number}", 9 - number) for number in range(4)]
    graph = by_hand.measured(nodes, [Edge(0, 1), Edge(0, 2, 1), Edge(1, 3), Edge(2, 3)])
    measured = (GradientStatistics(3, "in", 0, 0.25, 0.1, 0.0, 0, 0),)
    drawing = drawn(graph, show=frozenset({Show.GRADS}), gradients=measured)
    assert rows(drawing, "N3") == [("adds 2 gradients", Role.ADDITION), ("gradient's norm 0.25", Role.TYPE)]
    assert rows(drawn(graph), "N3") == []


def test_a_finding_marks_its_node_and_is_named_when_asked() -> None:
    finding = Finding("GS701", "inplace-on-saved", Severity.ERROR, "h was edited; then more", node=4, backward=0)
    drawing = drawn(by_hand.small(), findings=(finding,))
    assert box(drawing, "TBackward0").roles == {Role.VIEW, Role.FINDING}
    assert ("✗ GS701 h was edited", Role.FINDING) in rows(drawing, "TBackward0")
    asked = drawn(by_hand.small(), findings=(finding,), show=frozenset({Show.FINDINGS}))
    assert ("✗ GS701 inplace-on-saved", Role.FINDING) in rows(asked, "TBackward0")


def test_a_finding_without_a_node_is_said_when_asked() -> None:
    finding = Finding("GS730", "born-nonfinite", Severity.ERROR, "...", backward=0)
    drawing = drawn(by_hand.chain(2), findings=(finding,), show=frozenset({Show.FINDINGS}))
    assert drawing.captions[-1].startswith("GS730: no node stands for it")
    assert len(drawn(by_hand.chain(2), findings=(finding,)).captions) == 1


def test_what_was_asked_for_is_marked() -> None:
    drawing = drawn(by_hand.chain(9), rules=Rules(focus=4, radius=1))
    assert [box.title for box in drawing.boxes if Role.FOCUS in box.roles] == ["AddBackward0"]


def test_levels_are_set_off() -> None:
    nodes = [Node(0, "A", 2), Node(1, "B", 1, levels=(Level("Vmap", 1),))]
    drawing = drawn(by_hand.measured(nodes, [Edge(0, 1)]))
    assert [(cluster.title, cluster.roles) for cluster in drawing.clusters] == [
        ("Vmap:1  torch.func transform", {Role.LEVEL})
    ]
    assert Role.LEVEL in drawing.roles
    assert rows(drawing, "B") == []
    graph = by_hand.measured(nodes, [Edge(0, 1)])
    assert rows(drawn(graph, show=frozenset({Show.LEVELS})), "B") == [("Vmap:1", Role.LEVEL)]


def test_a_parameter_of_another_module_keeps_its_whole_name() -> None:
    graph = by_hand.small()
    moved = replace(graph.nodes[2], module=None)
    drawing = drawn(replace(graph, nodes=(*graph.nodes[:2], moved, *graph.nodes[3:])))
    assert ("linear.bias  float32[4]", Role.ACCUMULATE) in rows(drawing, "AddmmBackward0")


def test_a_box_has_a_bounded_number_of_rows() -> None:
    nodes = [Node(0, "CatBackward0", 9)]
    nodes += [Node(number, "AccumulateGrad", None, leaf=f"p{number}") for number in range(1, 31)]
    drawing = drawn(by_hand.measured(nodes, [Edge(0, number, number) for number in range(1, 31)]))
    assert len(drawing.boxes[0].rows) == 8
    assert drawing.boxes[0].rows[-1].text == "and 23 parameters more"
