"""Every node stands in the module call where a reader looks for it, in backward order."""

from __future__ import annotations

from dataclasses import replace

from gradscope.graphs.fold import fold
from gradscope.graphs.tree import build
from gradscope.graphs.walk import nodes_of
from gradscope.model.graph import Edge, Graph, Node, Parent
from gradscope.model.group import Group, Item, Repeat
from gradscope.model.hook import Hook
from gradscope.model.module import ModuleCall
from tests import by_hand

NET = ModuleCall("", "Net")


def shape(items: tuple[Item, ...]) -> list[object]:
    """Nested names: a text for a node, a pair for a group, a set for the rounds of a repeat."""
    found: list[object] = []
    for item in items:
        if isinstance(item, Node):
            found.append(item.name)
        elif isinstance(item, Group):
            found.append((item.name, shape(item.children)))
        else:
            found.append((len(item.rounds), shape(item.rounds[0])))
    return found


def calls(*paths: str, saved: bool = False) -> Graph:
    """A node in each of these module calls, one after another; no path: outside."""
    around = {path: ModuleCall(path, "Block", NET, position) for position, path in enumerate(paths) if path}
    nodes = [Node(number, "AddBackward0", 9, module=around.get(path)) for number, path in enumerate(paths)]
    return by_hand.measured(nodes, [Edge(number, number + 1) for number in range(len(nodes) - 1)])


def test_calls_nest_and_names_are_relative() -> None:
    inner = ModuleCall("a.b.c", "C", ModuleCall("a", "A", NET))
    tree = build(by_hand.measured([Node(0, "N", 1, module=inner)], []))
    assert shape(tree.children) == [("Net", [("a", [("b.c", ["N"])])])]


def test_a_parameter_that_only_a_backward_used_stands_with_what_used_it() -> None:
    parent = Parent("CheckpointFunctionBackward", ())
    linear = ModuleCall("linear", "Linear", NET)
    nodes = [
        Node(0, "AddmmBackward0", 1, module=linear, parent=parent),
        Node(1, "torch::autograd::AccumulateGrad", None, module=linear, parent=parent, leaf="linear.bias"),
    ]
    tree = build(by_hand.measured(nodes, [Edge(0, 1)]))
    assert shape(tree.children) == [("backward", [("Net", [("linear", [node.name for node in nodes])])])]


def test_a_call_is_not_numbered_where_the_call_around_it_says_the_number() -> None:
    outer = [ModuleCall("", "Net", None, number - 1, number, 2) for number in (1, 2)]
    inner = [ModuleCall("hidden", "Linear", call, 0, call.ordinal, 2) for call in outer]
    nodes = [Node(number, "N", 2 - number, module=call) for number, call in enumerate(inner)]
    tree = build(by_hand.measured(nodes, [Edge(0, 1)]))
    assert shape(tree.children) == [("Net, call 1", [("hidden", ["N"])]), ("Net, call 2", [("hidden", ["N"])])]


def test_a_reused_module_is_a_group_for_each_call() -> None:
    first = ModuleCall("relu", "ReLU", NET, 0, 1, 2)
    second = ModuleCall("relu", "ReLU", NET, 1, 2, 2)
    tree = build(by_hand.measured([Node(0, "R", 2, module=second), Node(1, "R", 1, module=first)], [Edge(0, 1)]))
    assert shape(tree.children) == [("Net", [("relu, call 2", ["R"]), ("relu, call 1", ["R"])])]


def test_equal_calls_are_one_group_even_when_they_are_not_one_object() -> None:
    nodes = [Node(number, "R", 1, module=ModuleCall("relu", "ReLU", NET)) for number in range(2)]
    assert shape(build(by_hand.measured(nodes, [])).children) == [("Net", [("relu", ["R", "R"])])]


def test_children_come_in_backward_order_and_idle_nodes_last() -> None:
    graph = calls("", "", "")
    orders = (1, None, 0)
    graph = replace(
        graph, nodes=tuple(replace(node, name=f"n{node.id}", order=orders[node.id]) for node in graph.nodes)
    )
    assert shape(build(graph).children) == ["n2", "n0", "n1"]


def test_a_parameter_goes_to_its_module_wherever_it_was_used() -> None:
    linear = ModuleCall("linear", "Linear", NET)
    leaf = Node(2, "torch::autograd::AccumulateGrad", None, module=NET, leaf="linear.weight")
    nodes = [Node(0, "Mul", 2, module=NET), Node(1, "Addmm", 1, module=linear), leaf]
    tree = build(by_hand.measured(nodes, [Edge(0, 1), Edge(0, 2, 1)]))
    (net,) = tree.children
    assert shape((net,)) == [("Net", ["Mul", ("linear", ["Addmm", leaf.name])])]


def test_a_parameter_of_a_module_that_was_not_called_goes_to_the_one_around_it() -> None:
    attention = ModuleCall("attention", "Attention", NET)
    leaf = Node(1, "torch::autograd::AccumulateGrad", None, leaf="attention.projection.weight")
    tree = build(by_hand.measured([Node(0, "Bmm", 1, module=attention), leaf], [Edge(0, 1)]))
    assert shape(tree.children) == [("Net", [("attention", ["Bmm", leaf.name])])]


def test_nodes_made_in_a_backward_stand_with_their_forward_node() -> None:
    linear = ModuleCall("linear", "Linear", NET)
    nodes = [
        Node(0, "Pow", 9),
        Node(1, "MmBackward", 8, parent=Parent("Mm", (), 3)),
        Node(2, "Unknown", 8, parent=Parent("Gone", ())),
        Node(3, "Mm", 1, module=linear),
        Node(4, "Third", 9, parent=Parent("MmBackward", (), 1)),
    ]
    tree = build(by_hand.measured(nodes, []))
    in_backward = ("backward", [("Net", [("linear", ["MmBackward", "Third"])]), "Unknown"])
    assert shape(tree.children) == ["Pow", in_backward, ("Net", [("linear", ["Mm"])])]


def test_parents_in_a_circle_do_not_hang() -> None:
    nodes = [Node(number, "N", 1, parent=Parent("N", (), 1 - number)) for number in range(2)]
    assert shape(build(by_hand.measured(nodes, [])).children) == [("backward", ["N", "N"])]


def test_identical_siblings_fold() -> None:
    tree = fold(build(calls("h.3", "h.2", "h.1", "h.0")))
    assert shape(tree.children) == [("Net", [(4, [("h.3", ["AddBackward0"])])])]


def test_two_are_not_folded() -> None:
    tree = fold(build(calls("h.1", "h.0")))
    assert not any(isinstance(item, Repeat) for item in tree.children)


def test_three_blocks_stay_because_a_fold_of_one_is_none() -> None:
    graph = calls("h.2", "h.1", "h.0")
    assert shape(fold(build(graph)).children) == shape(build(graph).children)


def test_a_node_and_a_block_in_turns_fold_together() -> None:
    graph = calls("", "h.3", "", "h.2", "", "h.1", "", "h.0", "")
    assert shape(fold(build(_outside(graph))).children) == [
        (4, ["AddBackward0", ("h.3", ["AddBackward0"])]),
        "AddBackward0",
    ]


def test_a_sibling_with_a_hook_does_not_fold() -> None:
    graph = calls("h.3", "h.2", "h.1", "h.0")
    hooked = replace(graph.nodes[1], hooks=(Hook(0, "tensor", "f", "x"),))
    graph = replace(graph, nodes=(graph.nodes[0], hooked, *graph.nodes[2:]))
    (net,) = fold(build(graph)).children
    assert isinstance(net, Group)
    assert len(net.children) == 4


def test_folding_keeps_every_node() -> None:
    graph = by_hand.transformer()
    tree = fold(build(graph))
    assert sorted(node.id for node in nodes_of(tree.children)) == list(range(len(graph.nodes)))


def test_modules_nested_5000_deep() -> None:
    call = NET
    for _ in range(5000):
        call = ModuleCall(f"{len(call.path)}", "Deep", call)
    tree = fold(build(by_hand.measured([Node(0, "N", 1, module=call)], [])))
    assert [node.name for node in nodes_of(tree.children)] == ["N"]


def _outside(graph: Graph) -> Graph:
    """The same with its calls outermost."""
    bare = (replace(node, module=replace(node.module, parent=None) if node.module else None) for node in graph.nodes)
    return replace(graph, nodes=tuple(bare))
