"""Whatever a graph is like: outputs and what was asked for have boxes of their own, and no box hides a hook."""

from __future__ import annotations

import re
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as some

from gradscope.graphs.reduce import reduce
from gradscope.graphs.rules import Rules
from gradscope.graphs.special import shared_parameters, specials
from gradscope.model.finding import Finding, Severity
from gradscope.model.graph import Edge, FunctionClass, Graph, Node, Root
from gradscope.model.hook import Hook
from gradscope.model.module import ModuleCall
from gradscope.model.reduced import Kind, Piece, Reduced
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


@given(graphs(), some_rules(), some.data())
def test_nothing_special_is_ever_hidden(graph: Graph, rules: Rules, data: some.DataObject) -> None:
    ids = some.sampled_from(range(len(graph.nodes)))
    kept, pointed = data.draw(some.sets(ids, max_size=3)), data.draw(ids)
    finding = Finding("GS701", "inplace-on-saved", Severity.ERROR, "...", node=pointed, backward=0)
    scene = by_hand.scene(graph, rules=replace(rules, keep=frozenset(kept)), findings=(finding,))
    reduced = reduce(graph, scene.reduction)
    where = pieces_of(reduced)
    assert sorted(where) == list(range(len(graph.nodes)))
    for node in {*kept, pointed, *graph.roots}:
        assert (where[node].kind, where[node].nodes[0].id) == (Kind.NODE, node)
    shared = shared_parameters(graph)
    for piece, box in zip(reduced.pieces, draw(scene).boxes, strict=True):
        held = (*piece.nodes, *piece.leaves, *piece.views)
        if piece.kind is Kind.NODE:
            assert not {node.id for node in held[1:]} & specials(graph, shared)
        else:
            hooks, functions = sum(len(node.hooks) for node in held), sum(node.function is not None for node in held)
            assert counts(box) == (hooks, functions, sum(node.id in shared for node in held))
