"""Whatever a graph is like: outputs and what was asked for have boxes of their own, and no box hides a hook."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from gradscope.graphs.reduce import reduce
from gradscope.graphs.rules import Rules
from gradscope.graphs.special import shared_parameters, specials
from gradscope.model.finding import Finding, Severity
from gradscope.model.graph import Edge, FunctionClass, Graph, Node, Root
from gradscope.model.hook import Hook
from gradscope.model.module import ModuleCall
from gradscope.model.reduced import Piece, PieceKind, Reduced
from gradscope.view.draw import draw
from gradscope.view.drawing import Box
from gradscope.view.role import Role
from gradscope.view.words import TIMES
from tests import by_hand

HOOKS = tuple(Hook(number, "tensor", f"hook{number}", "x", by_hand.line(12 + number)) for number in range(3))
FUNCTIONS = (None, None, None, FunctionClass("main.RMSNorm"), FunctionClass("Swish"))
NET = ModuleCall("", "Net")


def pieces_of(reduced: Reduced) -> dict[int, Piece]:
    """In which piece each node stands. Fails when one stands in two."""
    found: dict[int, Piece] = {}
    for piece in reduced.pieces:
        for node in (*piece.nodes, *piece.leaves, *piece.views):
            assert node.id not in found
            found[node.id] = piece
    return found


def counts(box: Box) -> tuple[int, int, int]:
    """What a box of several says: how many hooks, custom Functions and shared parameters it holds."""
    words = "\n".join(row.text for row in box.rows).replace(",", "")
    hooks = re.search(r"^(\d+) hooks?\b", words, re.MULTILINE)
    functions = sum(int(row.text.partition(TIMES)[0].replace(",", "")) for row in box.rows if row.role is Role.CUSTOM)
    shared = re.search(r"(\d+) (?:shared parameter|of them shared)", words)
    return int(hooks[1]) if hooks else 0, functions, int(shared[1]) if shared else 0


@some.composite
def graphs(draw: some.DrawFn) -> Graph:
    """Blocks of nodes in nested calls, most of them alike, with marks here and there, and more than one output."""
    size, blocks = draw(some.integers(1, 6)), draw(some.integers(1, 12))
    pattern = draw(some.lists(some.sampled_from(["Mul", "View", "T", "Leaf"]), min_size=size, max_size=size))
    total = size * blocks
    marked = some.dictionaries(some.integers(0, total - 1), some.sampled_from(FUNCTIONS))
    functions, everywhere = draw(marked), draw(some.sampled_from(FUNCTIONS))
    hooked = draw(some.dictionaries(some.integers(0, total - 1), some.lists(some.sampled_from(HOOKS), max_size=2)))
    hook_at = draw(some.integers(0, 2 * size))  # of each block, as far as there is such a place
    idle = draw(some.sets(some.integers(1, total), max_size=4))
    nodes, edges = [], []
    for number in range(total):
        block, place = divmod(number, size)
        around = ModuleCall(f"h.{block // 3}", "Stage", NET, block // 3)
        call = ModuleCall(f"h.{block // 3}.{block}", draw(some.sampled_from(["Block", "Block", "Odd"])), around, block)
        name = "torch::autograd::AccumulateGrad" if pattern[place] == "Leaf" else f"{pattern[place]}Backward0"
        hooks = tuple(hooked.get(number, HOOKS[:1] if place == hook_at else ()))
        function = functions.get(number, everywhere if place == 0 else None)
        made = Node(number, name, 999 - number, module=call, hooks=hooks, function=function)
        nodes.append(replace(made, leaf=f"p{number}") if name.endswith("Grad") else made)
        if number:
            edges.append(Edge(draw(some.integers(max(0, number - size - 1), number - 1)), number, number))
    edges += [Edge(0, number, number, 1) for number in draw(some.sets(some.integers(1, max(total - 1, 1)), max_size=3))]
    roots = draw(some.sets(some.integers(0, total - 1), min_size=1, max_size=3))
    edges = [edge for edge in edges if edge.target < total and edge.source < edge.target]
    graph = by_hand.measured(nodes, edges, roots=tuple(map(Root, sorted(roots))))
    return replace(graph, nodes=tuple(replace(node, order=None) if node.id in idle else node for node in graph.nodes))


def some_rules() -> some.SearchStrategy[Rules]:
    return some.builds(
        Rules,
        depth=some.sampled_from([None, None, 1, 2]),
        fold=some.sampled_from([True, True, True, False]),
        params=some.sampled_from([None, None, True]),
        most=some.sampled_from([3, 10, 30, 150]),
    )


@settings(deadline=None)
@given(graphs(), some_rules(), some.sets(some.integers(0, 99), max_size=3), some.integers(0, 99))
def test_nothing_special_is_ever_hidden(graph: Graph, rules: Rules, chosen: set[int], at: int) -> None:
    kept, pointed = {one % len(graph.nodes) for one in chosen}, at % len(graph.nodes)
    finding = Finding("GS701", "inplace-on-saved", Severity.ERROR, "...", node=pointed, backward=0)
    scene = by_hand.scene(graph, rules=replace(rules, keep=frozenset(kept)), findings=(finding,))
    reduced = reduce(graph, scene.reduction)
    where = pieces_of(reduced)
    assert sorted(where) == list(range(len(graph.nodes)))
    for node in {*kept, pointed, *graph.roots}:
        assert (where[node].kind, where[node].nodes[0].id) == (PieceKind.NODE, node)
    shared = shared_parameters(graph)
    for piece, box in zip(reduced.pieces, draw(scene).boxes, strict=True):
        held = (*piece.nodes, *piece.leaves, *piece.views)
        if piece.kind is PieceKind.NODE:
            assert not {node.id for node in held[1:]} & specials(graph, shared)
        else:
            hooks, functions = sum(len(node.hooks) for node in held), sum(node.function is not None for node in held)
            assert counts(box) == (hooks, functions, sum(node.id in shared for node in held))


def blocks(alike: bool, hooks: tuple[Hook, ...] = ()) -> Graph:
    """A loss, then 24 blocks of six nodes, the last of them a custom Function in a call of its own."""
    nodes = [Node(0, "Loss", 9999)]
    for block in range(24):
        call = ModuleCall(f"h.{block}", "Block", NET, block)
        inner = ModuleCall(f"h.{block}.norm", "Norm", call)
        names = ["A" if alike else f"A{block}", "B", "C", "D", "E"]
        nodes += [Node(len(nodes) + place, name, 999, module=call) for place, name in enumerate(names)]
        nodes.append(Node(len(nodes), "RMS", 999, module=inner, hooks=hooks, function=FunctionClass("main.RMSNorm")))
    return by_hand.measured(nodes, [Edge(number, number + 1) for number in range(len(nodes) - 1)])


def fan(hooked: int, plain: int, lines: int = 1) -> Graph:
    """A node with many successors, some of them with a hook of one of these lines."""
    hooks = [Hook(number, "tensor", "f", "x", by_hand.line(12 + number % lines)) for number in range(hooked)]
    nodes = [Node(0, "Cat", 9999), *(Node(1 + place, "Mul", 999, hooks=(hook,)) for place, hook in enumerate(hooks))]
    nodes += [Node(len(nodes) + place, f"Plain{place}", 99) for place in range(plain)]
    return by_hand.measured(nodes, [Edge(0, number, number) for number in range(1, len(nodes))])


def titles(graph: Graph, **rules: int) -> list[str]:
    return [box.title for box in draw(by_hand.scene(graph, rules=Rules(**rules))).boxes]


def test_a_function_in_each_of_24_unlike_blocks_has_a_box_each() -> None:
    for most in (150, 120, 60):
        assert titles(blocks(alike=False), most=most).count("RMS") == 24


def test_identical_blocks_are_opened_around_their_function_once_and_the_rest_say_what_they_hold() -> None:
    """Not even the first block fits with its six nodes."""
    boxes = draw(by_hand.scene(blocks(alike=True, hooks=HOOKS[:2]), rules=Rules(most=8))).boxes
    assert [box.title for box in boxes].count("RMS") == 1
    (repeat,) = (box for box in boxes if "same Block" in box.title)
    assert [row.text for row in repeat.rows] == ["44 hooks", f"22{TIMES} RMSNorm (custom)"]
    (last,) = (box for box in boxes if box.title == "h.23")
    assert [row.text for row in last.rows] == ["2 hooks", f"1{TIMES} RMSNorm (custom)"]


def test_other_nodes_close_further_to_make_room() -> None:
    """100 nodes with hooks and 100 without do not fit: those without share boxes."""
    found = titles(fan(95, 100))
    assert found.count("Mul") == 95
    assert len(found) <= 150


def test_a_thousand_hooks_of_one_line_are_one_box_that_says_so() -> None:
    drawing = draw(by_hand.scene(fan(1000, 3)))
    (box,) = (box for box in drawing.boxes if "Mul" in box.title)
    assert box.title == f"⋮ 1,000{TIMES} Mul"
    assert [row.text for row in box.rows] == ["1,000 hooks at train.py:12"]
    assert Role.HOOKED in drawing.roles


def test_of_several_kinds_the_rare_keep_boxes_of_their_own() -> None:
    graph = fan(1000, 0)
    nodes = [replace(node, function=FunctionClass("Swish")) if node.id in (5, 500) else node for node in graph.nodes]
    found = titles(replace(graph, nodes=tuple(nodes)))
    assert found.count("Mul") == 2
    assert f"⋮ 998{TIMES} Mul" in found


def test_hooks_of_a_thousand_lines_share_a_box_all_the_same() -> None:
    boxes = draw(by_hand.scene(fan(1000, 0, lines=1000))).boxes
    assert [row.text for box in boxes for row in box.rows] == ["1,000 hooks"]


def test_closed_calls_are_not_all_joined_into_one() -> None:
    found = draw(by_hand.scene(blocks(alike=False), rules=Rules(most=10))).boxes
    held = [row.text for box in found for row in box.rows]
    assert 4 < len(found) <= 10
    assert sum(int(words.partition(TIMES)[0]) for words in held) + [box.title for box in found].count("RMS") == 24


def test_nodes_that_did_not_run_share_a_box_of_their_own() -> None:
    graph = by_hand.fan(1000, alike=False)
    idle = tuple(replace(node, order=None) if node.id else node for node in graph.nodes)
    boxes = draw(by_hand.scene(replace(graph, nodes=idle))).boxes
    assert [row.text for box in boxes for row in box.rows] == ["1,000 did not run"]


def test_a_module_that_depth_closes_says_what_it_holds() -> None:
    _, box = draw(by_hand.scene(blocks(alike=False), depth=1)).boxes
    assert [row.text for row in box.rows] == [f"24{TIMES} RMSNorm (custom)"]


@pytest.mark.parametrize("rules", [Rules(depth=1), Rules(most=3), Rules(depth=1, fold=False)])
def test_outputs_show_wherever_they_stand(rules: Rules) -> None:
    graph = blocks(alike=True)
    outputs = (0, 8, 71, 101)
    graph = replace(graph, backward=replace(graph.backward, roots=tuple(map(Root, outputs))))
    where = pieces_of(reduce(graph, rules))
    assert all(where[node].kind is PieceKind.NODE for node in outputs)


def test_a_parameter_with_a_user_out_of_sight_is_shared_all_the_same() -> None:
    nodes = [Node(0, "Add", 9), Node(1, "Mul", 8), Node(2, "Sin", 7), Node(3, "AccumulateGrad", None, leaf="w")]
    graph = by_hand.measured(nodes, [Edge(0, 1), Edge(0, 2, 1), Edge(1, 3), Edge(2, 3)])
    where = pieces_of(reduce(graph, Rules(focus=1, radius=1)))
    assert where[3].nodes == (graph.nodes[3],)
