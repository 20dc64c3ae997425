"""Which module call each node belongs to.

Nodes made during a backward belong where their forward node does, and a parameter's AccumulateGrad belongs to
the parameter's module, wherever it happened to be used first.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

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
    owners = Owners([call for call in modules.values() if call])
    users = {edge.target: edge.source for edge in reversed(graph.edges)}  # the first of each
    in_forward = {edge.target for edge in graph.edges if not found[edge.source].in_backward}
    for leaf in [node for node in graph.nodes if node.accumulates]:
        user = users.get(leaf.id)
        near = leaf.module or (None if user is None else found[user].call)
        in_backward = user is not None and leaf.id not in in_forward
        owner = owners.find(leaf.leaf, near)
        home = calls.get(id(owner))  # one home for all in a call, which makes neighbours quick to compare
        found[leaf.id] = home if home and not in_backward else Home(owner, in_backward)
    return found


class Owners:
    """Finds the call of the module that owns a parameter, among these calls and those around them."""

    def __init__(self, calls: list[ModuleCall]) -> None:
        self._calls = calls

    @cached_property
    def _index(self) -> Index:
        """By their outermost call and their path; few graphs ask for it."""
        index: Index = {}
        for call in self._calls:
            outermost, *_ = chain = call.chain
            for link in chain:
                index.setdefault((call_key(outermost), link.path), link)
        return index

    def find(self, leaf: str | None, near: ModuleCall | None) -> ModuleCall | None:
        """That call, or that of the closest module around it that was called; `near` uses the parameter."""
        if leaf is None or near is None or leaf.rpartition(".")[0] == near.path:  # where nearly all parameters are used
            return near
        outermost = near.outermost
        path = _inside(leaf, outermost.module_class)
        around: dict[str, ModuleCall] = {}
        while path:
            path = path.rpartition(".")[0]
            if path == near.path:
                return near
            around = around or {call.path: call for call in near.chain}
            call = around.get(path) or self._index.get((call_key(outermost), path))
            if call is not None:
                return call
        return near


def _forward_home(graph: Graph, node: Node) -> Home:
    """Follow the nodes that were being evaluated back to one that a forward made."""
    seen: set[int] = set()
    origin = node
    while origin.parent is not None and origin.parent.node is not None and origin.id not in seen:
        seen.add(origin.id)
        origin = graph.nodes[origin.parent.node]
    return Home(origin.module or node.module, in_backward=True)


def _inside(leaf: str, model: str) -> str:
    """`a.b.weight` is owned by `a.b`, which stands in `a`, which stands in the outermost module.

    Where two models have parameters of the same name, the model's class stands in front: `Net.a.b.weight`.
    """
    front, _, rest = leaf.partition(".")
    return rest if rest and front.partition("#")[0] == model else leaf
