"""Nodes that Python has seen end one inside the other: some are held, and let go as soon as nobody else holds them."""

import weakref

import torch

from gradscope.probes.core.node_token import Token
from gradscope.probes.graph.deep_graphs import DeepGraphs

DEPTH = 6_000


def chain(depth: int) -> tuple[torch.Tensor, list[object]]:
    value = torch.zeros(1, requires_grad=True).clone()
    nodes = []
    for _ in range(depth):
        value = value + 1
        nodes.append(value.grad_fn)
    return value, nodes


def test_some_of_many_walked_nodes_are_held_until_the_graph_is_dropped() -> None:
    deep = DeepGraphs()
    value, nodes = chain(DEPTH)
    deep.walked(nodes[::-1])
    del nodes
    deep.let_go()
    assert DEPTH // 512 < len(deep._held) < DEPTH // 128
    del value
    deep.let_go()
    assert not deep._held


def test_few_nodes_are_never_held() -> None:
    deep = DeepGraphs()
    _, nodes = chain(1_000)
    deep.walked(nodes)
    assert not deep._held


def test_what_a_dropped_graph_kept_is_gone_after_it_is_let_go() -> None:
    deep, kept = DeepGraphs(), Token()
    gone = weakref.ref(kept)
    value, nodes = chain(DEPTH)
    nodes[0].metadata["kept"] = kept
    deep.walked(nodes[::-1])
    del value, nodes, kept
    assert gone() is not None
    deep.let_go()
    assert gone() is None
