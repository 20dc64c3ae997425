"""Every rule of the reduction, and its switch. Whatever is folded, each node stands in one piece and is counted."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gradscope.errors import UsageError
from gradscope.graphs.match import match
from gradscope.graphs.reduce import reduce
from gradscope.graphs.rules import MOST_BOXES, Rules
from gradscope.model.graph import Edge, FunctionClass, Graph, Level, Node
from gradscope.model.hook import Hook
from gradscope.model.module import ModuleCall
from gradscope.model.reduced import Link, PieceKind, Reduced
from tests import by_hand

LEAF = "torch::autograd::AccumulateGrad"
NET = ModuleCall("", "Net")


def linear(**about: object) -> Graph:
    """Two layers that share nothing: view, addmm with bias and weight, whose weight goes through a T."""
    names = ["MeanBackward0", "ViewBackward0", "AddmmBackward0", LEAF, "TBackward0", LEAF]
    nodes = [Node(number, name, 9 - number, module=NET) for number, name in enumerate(names)]
    nodes[3], nodes[5] = replace(nodes[3], leaf="bias"), replace(nodes[5], leaf="weight")
    for number, changes in about.items():
        at = int(number.removeprefix("n"))
        nodes[at] = replace(nodes[at], **changes)  # type: ignore[arg-type]
    return by_hand.measured(nodes, [Edge(0, 1), Edge(1, 2), Edge(2, 3), Edge(2, 4, 1), Edge(4, 5)])


def shown(reduced: Reduced) -> list[str]:
    """A word for each piece."""
    return [piece.nodes[0].name if piece.kind is PieceKind.NODE else piece.kind.name for piece in reduced.pieces]


def ids(reduced: Reduced) -> list[int]:
    """The nodes that stand in some piece."""
    pieces = reduced.pieces
    return sorted(node.id for piece in pieces for node in (*piece.nodes, *piece.leaves, *piece.views))


def test_parameters_and_views_are_part_of_what_uses_them() -> None:
    mean, addmm = reduce(linear(), Rules()).pieces
    assert [leaf.leaf for leaf in addmm.leaves] == ["bias", "weight"]
    assert [view.name for view in (*mean.views, *addmm.views)] == ["ViewBackward0", "TBackward0"]


def test_what_was_folded_is_counted() -> None:
    folded = reduce(linear(), Rules()).folded
    assert (folded.parameters, folded.views, folded.closed, folded.repeated) == (2, 2, 0, 0)


def test_params_gives_parameters_boxes_of_their_own() -> None:
    assert shown(reduce(linear(), Rules(params=True))) == ["MeanBackward0", "AddmmBackward0", LEAF, LEAF]


def test_no_params_leaves_them_out_and_says_so() -> None:
    reduced = reduce(linear(), Rules(params=False))
    assert [piece.leaves for piece in reduced.pieces] == [(), ()]
    assert reduced.folded.hidden == 2


def test_a_parameter_that_is_left_out_leaves_no_link() -> None:
    graph = linear()
    shared = replace(graph, edges=(*graph.edges, Edge(0, 5, 1)))
    assert reduce(shared, Rules(params=False)).links == (Link(0, 1),)


def test_no_fold_gives_every_node_a_box() -> None:
    assert len(reduce(linear(), Rules(fold=False)).pieces) == 6


@pytest.mark.parametrize(
    "changes", [{"hooks": (Hook(0, "tensor", "f", "x"),)}, {"function": FunctionClass("Mine")}, {"order": None}]
)
def test_a_view_with_something_of_its_own_is_not_folded(changes: dict[str, object]) -> None:
    graph = linear()
    nodes = list(graph.nodes)
    nodes[1] = replace(nodes[1], **changes)  # type: ignore[arg-type]
    assert "ViewBackward0" in shown(reduce(replace(graph, nodes=tuple(nodes)), Rules()))


def test_a_parameter_with_hooks_or_two_users_is_not_folded() -> None:
    assert LEAF in shown(reduce(linear(n3={"hooks": (Hook(0, "tensor", "f", "x"),)}), Rules()))
    graph = linear()
    shared = replace(graph, edges=(*graph.edges, Edge(0, 5, 1)))
    assert shown(reduce(shared, Rules())) == ["MeanBackward0", "AddmmBackward0", LEAF]


def test_what_must_show_is_not_folded() -> None:
    assert shown(reduce(linear(), Rules(keep=frozenset({4, 5})))) == [
        "MeanBackward0",
        "AddmmBackward0",
        "TBackward0",
        LEAF,
    ]


def test_views_do_not_leave_their_module() -> None:
    other = ModuleCall("flatten", "Flatten", NET)
    assert shown(reduce(linear(n1={"module": other}), Rules()))[:2] == ["MeanBackward0", "ViewBackward0"]


def test_views_of_two_modules_in_turns_end_somewhere() -> None:
    calls = [ModuleCall(name, name, NET, place) for place, name in enumerate("ab")]
    nodes = [Node(number, "ViewBackward0", 9 - number, module=calls[number % 2]) for number in range(6)]
    graph = by_hand.measured(nodes, [Edge(number, number + 1) for number in range(5)])
    assert ids(reduce(graph, Rules())) == list(range(6))


def test_repeats_show_the_first_the_rest_and_the_last() -> None:
    reduced = reduce(by_hand.transformer(), Rules(depth=2))
    repeat = next(piece for piece in reduced.pieces if piece.kind is PieceKind.REPEAT)
    assert repeat.repeat is not None
    assert len(repeat.repeat.rounds) == 24
    closed = [piece.group.name for piece in reduced.pieces if piece.group is not None]
    assert closed == ["ln_f", "h.0", "h.23", "wte"]  # the last of the repeat stands before its first


def test_a_node_that_must_show_is_in_no_repeat() -> None:
    inside = next(node.id for node in by_hand.transformer().nodes if node.module and node.module.path == "h.7.mlp.act")
    reduced = reduce(by_hand.transformer(), Rules(depth=1, keep=frozenset({inside})))
    assert [piece.nodes[0].id for piece in reduced.pieces if piece.kind is PieceKind.NODE].count(inside) == 1


def test_closed_groups_open_around_hooks_while_there_is_room() -> None:
    graph = by_hand.transformer()
    at = next(node.id for node in graph.nodes if node.module and node.module.path == "h.7.mlp.act")
    hooked = replace(graph.nodes[at], hooks=(Hook(0, "tensor", "f", "x"),))
    graph = replace(graph, nodes=(*graph.nodes[:at], hooked, *graph.nodes[at + 1 :]))
    assert at in [piece.nodes[0].id for piece in reduce(graph, Rules()).pieces if piece.kind is PieceKind.NODE]
    assert at not in [
        piece.nodes[0].id for piece in reduce(graph, Rules(depth=1)).pieces if piece.kind is PieceKind.NODE
    ]


def test_focus_shows_the_neighbourhood_and_counts_the_rest() -> None:
    reduced = reduce(by_hand.chain(100), Rules(focus=50, radius=2))
    assert ids(reduced) == [48, 49, 50, 51, 52]
    assert reduced.folded.outside == 95


@pytest.mark.parametrize("length", [MOST_BOXES + 2, 10_000])
def test_long_chains_are_one_piece_between_their_ends(length: int) -> None:
    reduced = reduce(by_hand.chain(length), Rules())
    assert shown(reduced) == ["MulBackward0", "CHAIN"]
    assert reduced.links == (Link(0, 1),)
    assert reduced.folded.joined == length - 1


def test_chains_stop_at_branches() -> None:
    nodes = list(by_hand.chain(400).nodes)
    edges = [Edge(number, number + 1) for number in range(399)] + [Edge(100, 300, 1)]
    reduced = reduce(by_hand.measured(nodes, edges), Rules())
    assert len(reduced.pieces) == len(reduced.links) == 4


def test_twins_of_a_fan_are_one_piece_between_two() -> None:
    reduced = reduce(by_hand.fan(2000), Rules())
    assert shown(reduced) == ["StackBackward0", "MulBackward0", "CROWD", "MulBackward0"]
    assert Link(0, 2, 1998) in reduced.links


def test_a_fan_of_different_nodes_is_a_few_crowds() -> None:
    reduced = reduce(by_hand.fan(2000, alike=False), Rules())
    assert 20 < len(reduced.pieces) <= 41
    assert ids(reduced) == list(range(2001))


def test_long_runs_between_calls_are_joined_so_that_calls_may_stay_open() -> None:
    """An optimizer's arithmetic in a create_graph chain: more nodes between the calls than there is room for."""
    calls = [ModuleCall("", "Net", None, place, place + 1, 2) for place in range(2)]
    inside = [Node(number, f"A{number}", None, module=calls[number // 3]) for number in range(6)]
    between = [Node(number, f"Mul{number}", None) for number in range(6, 206)]  # no twins of each other
    nodes = [replace(node, id=at) for at, node in enumerate([*inside[:3], *between, *inside[3:]])]
    edges = [Edge(0, 1), Edge(1, 2), *(Edge(2, at) for at in range(3, 203)), *(Edge(at, 203) for at in range(3, 203))]
    reduced = reduce(by_hand.measured(nodes, [*edges, Edge(203, 204), Edge(204, 205)]), Rules(most=20))
    assert shown(reduced) == ["A0", "A1", "A2", "CROWD", "A3", "A4", "A5"]


def test_an_update_of_each_parameter_in_a_list_is_a_box_for_each_operator() -> None:
    """What one line does to ten tensors of different shapes; a step later the same line does it again."""
    nodes, edges, before = [Node(0, "SumBackward0", None)], list[Edge](), [0] * 10
    for name in ("SubBackward0", "MulBackward0", "CloneBackward0") * 2:
        first = len(nodes)
        nodes += [Node(first + at, name, None, inputs_meta=(by_hand.floats(at + 1),)) for at in range(10)]
        edges += [Edge(source, first + at, 0) for at, source in enumerate(before)]
        before = list(range(first, first + 10))
    reduced = reduce(by_hand.measured(nodes, edges), Rules())
    assert shown(reduced) == ["SumBackward0", *["CROWD"] * 6]
    assert [(link.tail, link.head, link.count) for link in reduced.links] == [(at, at + 1, 10) for at in range(6)]


def test_the_updates_behind_layers_of_a_call_are_one_box_however_deep_each_layer_lies() -> None:
    """MAML's inner step: four layers hand on to four updates of one line, each a layer later than the one before."""
    nodes = [Node(number, f"Addmm{number}", None, module=NET) for number in range(4)]
    nodes += [Node(4 + at, "SubBackward0", None, inputs_meta=(by_hand.floats(at + 1),)) for at in range(4)]
    nodes += [Node(8, "LinearBackward0", None, inputs_meta=(by_hand.floats(8),))]
    edges = [*(Edge(at, at + 1) for at in range(3)), *(Edge(at, 4 + at, 1) for at in range(4))]
    reduced = reduce(by_hand.measured(nodes, [*edges, *(Edge(4 + at, 8) for at in range(4))]), Rules())
    assert shown(reduced) == ["Addmm0", "Addmm1", "Addmm2", "Addmm3", "CROWD", "LinearBackward0"]


@pytest.mark.parametrize(("count", "boxes"), [(3, ["NODE"] * 3), (4, ["ALIKE"])])
def test_parameters_that_the_same_two_use_are_one_box_from_four_on(count: int, boxes: list[str]) -> None:
    """Such as all of a network that is called twice; whatever their shapes."""
    nodes = [Node(number, f"Addmm{number}", None) for number in range(2)]
    nodes += [Node(2 + at, LEAF, None, leaf=f"p{at}", inputs_meta=(by_hand.floats(at + 1),)) for at in range(count)]
    edges = [Edge(0, 1), *(Edge(user, 2 + at, 1 + at) for user in range(2) for at in range(count))]
    reduced = reduce(by_hand.measured(nodes, edges), Rules())
    assert [piece.kind.name for piece in reduced.pieces[2:]] == boxes
    assert len(reduce(by_hand.measured(nodes, edges), Rules(params=True)).pieces) == 2 + count


def test_three_updates_of_a_line_keep_their_boxes() -> None:
    nodes = [Node(0, "SumBackward0", None)]
    nodes += [Node(1 + at, "SubBackward0", None, inputs_meta=(by_hand.floats(at + 1),)) for at in range(3)]
    reduced = reduce(by_hand.measured(nodes, [Edge(0, 1 + at, at) for at in range(3)]), Rules())
    assert shown(reduced) == ["SumBackward0", *["SubBackward0"] * 3]


def test_pruned_links_are_known() -> None:
    reduced = reduce(by_hand.small(), Rules())
    pruned = [link for link in reduced.links if link.pruned]
    assert [reduced.pieces[link.head].nodes[0].name for link in pruned] == ["PowBackward0"]


def test_gradients_that_meet_are_counted() -> None:
    nodes = [Node(number, "AddBackward0", 9 - number) for number in range(4)]
    graph = by_hand.measured(nodes, [Edge(0, 1), Edge(0, 2, 1), Edge(1, 3), Edge(2, 3)])
    assert [piece.sums for piece in reduce(graph, Rules()).pieces] == [1, 1, 1, 2]


def test_levels_stand_in_frames_of_their_own_whatever_the_depth() -> None:
    levels = (Level("Grad", 1), Level("Vmap", 2))
    nodes = [Node(0, "A", 3), Node(1, "B", 2, levels=levels[:1]), Node(2, "C", 1, levels=levels)]
    reduced = reduce(by_hand.measured(nodes, [Edge(0, 1), Edge(1, 2)]), Rules(depth=1))
    assert [frame.group.level for frame in reduced.frames] == list(levels)
    assert [piece.frame for piece in reduced.pieces] == [None, 0, 1]


def test_a_frame_around_one_box_is_said_in_the_box() -> None:
    inner = ModuleCall("a.b", "Linear", ModuleCall("a", "Block", NET))
    nodes = [Node(0, "MeanBackward0", 2, module=NET), Node(1, "AddmmBackward0", 1, module=inner)]
    reduced = reduce(by_hand.measured(nodes, [Edge(0, 1)]), Rules())
    assert [[call.name for call in piece.calls] for piece in reduced.pieces] == [[], ["a", "b"]]
    assert [frame.group.name for frame in reduced.frames] == ["Net"]


@pytest.mark.parametrize("rules", [Rules(), Rules(depth=2), Rules(params=False), Rules(focus=3, radius=9)])
def test_the_counts_of_what_was_folded_add_up(rules: Rules) -> None:
    graph = by_hand.transformer()
    reduced = reduce(graph, rules)
    folded = reduced.folded
    counted = (folded.parameters, folded.views, folded.closed, folded.repeated, folded.joined, folded.hidden)
    assert sum(counted) + folded.outside + sum(one.kind is PieceKind.NODE for one in reduced.pieces) == len(graph.nodes)


@pytest.mark.parametrize("rules", [Rules(), Rules(depth=1), Rules(fold=False), Rules(params=True), Rules(most=5)])
@pytest.mark.parametrize(
    "graph",
    [by_hand.small(), by_hand.transformer(3), by_hand.hostile(), by_hand.chain(500), by_hand.fan(300)],
    ids=["small", "transformer", "hostile", "chain", "fan"],
)
def test_every_node_stands_in_one_piece(graph: Graph, rules: Rules) -> None:
    reduced = reduce(graph, rules)
    assert ids(reduced) == [node.id for node in graph.nodes]
    places = range(len(reduced.pieces))
    assert all(link.tail in places and link.head in places and link.tail != link.head for link in reduced.links)
    assert all(frame.around is None or frame.around < number for number, frame in enumerate(reduced.frames))
    assert len({(link.tail, link.head) for link in reduced.links}) == len(reduced.links)


def test_patterns_match_names_modules_leaves_and_lines() -> None:
    graph = by_hand.small()
    assert match(graph, "addmm*") == {2}
    assert match(graph, "*.BIAS") == {3}
    assert match(graph, "linear") == {2, 4}
    assert match(graph, "train.py:18") == {6}
    assert match(graph, "Swish") == {1}
    with pytest.raises(UsageError, match="no node of this backward matches"):
        match(graph, "conv*")
