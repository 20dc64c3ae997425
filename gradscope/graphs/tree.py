"""Builds the tree of module calls of a graph, everything in backward order."""

from __future__ import annotations

from dataclasses import dataclass, field

from gradscope.graphs.home import CallKey, Home, call_key, homes
from gradscope.graphs.walk import backward_order
from gradscope.model.graph import Graph, Node
from gradscope.model.group import Group, Totals
from gradscope.model.module import ModuleCall

IN_BACKWARD = "backward"


@dataclass(eq=False, slots=True)
class Draft:
    """A group while it fills; drafts are made after those around them, which freezing relies on."""

    name: str
    module_class: str
    around: Draft | None
    children: list[Node | Draft] = field(default_factory=list)
    inner: dict[CallKey, Draft] = field(default_factory=dict)
    storages: dict[int, int] = field(default_factory=dict)
    nodes: int = 0
    parameters: int = 0
    hooks: int = 0
    first: int | None = None
    last: int | None = None

    def count(self, node: Node) -> None:
        """Add a node, which stands in this group or deeper."""
        self.nodes += 1
        self.parameters += node.accumulates
        self.hooks += len(node.hooks)
        self.storages.update((tensor.storage, tensor.bytes) for tensor in node.saved if tensor.leaf is None)
        if node.order is not None:
            self.first = node.order if self.first is None else self.first
            self.last = node.order


class Builder:
    """Fills drafts, one path of calls at a time."""

    def __init__(self) -> None:
        self.root = Draft("", "", None)
        self.drafts = [self.root]
        self._paths: dict[tuple[int, bool], list[Draft]] = {}

    def add(self, node: Node, home: Home) -> None:
        """Put a node into its group."""
        path = self._path(home)
        path[-1].children.append(node)
        for draft in path:
            draft.count(node)

    def _path(self, home: Home) -> list[Draft]:
        """The drafts from the root to a home."""
        key = (id(home.call), home.in_backward)
        if key not in self._paths:
            path = [self.root]
            if home.in_backward:
                path.append(self._inside(path[-1], (IN_BACKWARD, "", -1, 0), IN_BACKWARD, ""))
            for call in home.call.chain if home.call else ():
                path.append(self._inside(path[-1], call_key(call), _name(call), call.module_class))
            self._paths[key] = path
        return self._paths[key]

    def _inside(self, around: Draft, key: CallKey, name: str, module_class: str) -> Draft:
        if key not in around.inner:
            draft = around.inner[key] = Draft(name, module_class, around)
            around.children.append(draft)
            self.drafts.append(draft)
        return around.inner[key]


def build(graph: Graph) -> Group:
    """The tree of module calls; its root is the whole graph and has no name."""
    where = homes(graph)
    builder = Builder()
    for node in backward_order(graph.nodes):
        builder.add(node, where[node.id])
    frozen: dict[int, Group] = {}
    for draft in reversed(builder.drafts):
        children = tuple(child if isinstance(child, Node) else frozen[id(child)] for child in draft.children)
        frozen[id(draft)] = Group(draft.name, draft.module_class, children, _totals(draft))
    return frozen[id(builder.root)]


def _totals(draft: Draft) -> Totals:
    saved = sum(draft.storages.values())
    return Totals(draft.nodes, draft.parameters, saved, draft.hooks, draft.first, draft.last)


def _name(call: ModuleCall) -> str:
    """A call's label without the path of the call around it, nor its number where that call's says it all."""
    outer = call.parent
    if outer is None:
        return call.label
    counted = (call.ordinal, call.ordinals) != (outer.ordinal, outer.ordinals)
    name = call.label if counted else call.path or call.module_class
    return name.removeprefix(outer.path + "." if outer.path else "")
