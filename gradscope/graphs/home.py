"""Which module call each node belongs to.

Nodes made during a backward belong where their forward node does, and a parameter's AccumulateGrad belongs to
the parameter's module, wherever it happened to be used first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from gradscope.model.graph import Graph, Node
from gradscope.model.module import ModuleCall

CallKey = tuple[str, str, int, int]
Index = dict[tuple[CallKey, str], ModuleCall]


@dataclass(frozen=True, slots=True)
class Home:
    """Where a node belongs: a module call (None: outside of all), and whether it was made during a backward."""

    call: ModuleCall | None = None
    in_backward: bool = False


def call_key(call: ModuleCall) -> CallKey:
    """What tells a call from its siblings; comparing calls themselves would recurse through all their callers."""
    return call.path, call.module_class, call.position, call.ordinal


def homes(graph: Graph) -> list[Home]:
    """The home of each node, by id."""
    modules = {id(node.module): node.module for node in graph.nodes}
    calls = {number: Home(call) for number, call in modules.items()}
    found = [_forward_home(graph, node) if node.parent else calls[id(node.module)] for node in graph.nodes]
    index = _calls_by_path(call for call in modules.values() if call)
    leaves = [node for node in graph.nodes if node.accumulates]
    users = _users(graph, leaves)
    for node in leaves:
        consumer = next(iter(users[node.id]), None)
        near = node.module or (found[consumer].call if consumer is not None else None)
        in_backward = consumer is not None and all(found[user].in_backward for user in users[node.id])
        found[node.id] = Home(_leaf_call(node.leaf, near, index), in_backward)
    return found


def _users(graph: Graph, leaves: list[Node]) -> dict[int, list[int]]:
    """The nodes that hand each leaf's node a gradient, in the order of the edges."""
    users: dict[int, list[int]] = {node.id: [] for node in leaves}
    for edge in graph.edges:
        if edge.target in users:
            users[edge.target].append(edge.source)
    return users


def _forward_home(graph: Graph, node: Node) -> Home:
    """Follow the nodes that were being evaluated back to one that a forward made."""
    seen: set[int] = set()
    origin = node
    while origin.parent is not None and origin.parent.node is not None and origin.id not in seen:
        seen.add(origin.id)
        origin = graph.nodes[origin.parent.node]
    return Home(origin.module or node.module, in_backward=True)


def _calls_by_path(calls: Iterable[ModuleCall]) -> Index:
    """These calls and those around them by their outermost call and their path."""
    index: Index = {}
    for call in calls:
        outermost, *_ = chain = call.chain
        for link in chain:
            index.setdefault((call_key(outermost), link.path), link)
    return index


def _leaf_call(leaf: str | None, near: ModuleCall | None, index: Index) -> ModuleCall | None:
    """The call of the module that owns a parameter, or of the closest module around it that was called."""
    if leaf is None or near is None:
        return near
    chain = near.chain
    around = {call.path: call for call in chain}
    for path in _owners(leaf, chain[0].module_class):
        if path == near.path:  # where nearly all parameters are used
            return near
        call = around.get(path) or index.get((call_key(chain[0]), path))
        if call is not None:
            return call
    return near


def _owners(leaf: str, model: str) -> Iterator[str]:
    """`a.b.weight` is owned by `a.b`, which stands in `a`, which stands in the outermost module.

    Where two models have parameters of the same name, the model's class stands in front: `Net.a.b.weight`.
    """
    front, _, rest = leaf.partition(".")
    path = rest if rest and front.partition("#")[0] == model else leaf
    while path:
        path = path.rpartition(".")[0]
        yield path
