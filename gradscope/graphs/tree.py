"""Builds the tree of module calls of a graph, everything in backward order."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

from gradscope.graphs.home import CallKey, Home, call_key, homes
from gradscope.graphs.walk import backward_order
from gradscope.model.graph import Graph, Level, Node
from gradscope.model.group import Group, Totals
from gradscope.model.module import ModuleCall

IN_BACKWARD = "backward"
LEVEL = "a torch.func level"


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
    level: Level | None = None

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
        self._paths: dict[tuple[int, bool, tuple[Level, ...]], list[Draft]] = {}

    def add(self, node: Node, home: Home, levels: tuple[Level, ...] = (), absorbed: bool = False) -> None:
        """Put a node into its group; one that is absorbed is counted there and not shown."""
        path = self._path(home, levels)
        if not absorbed:
            path[-1].children.append(node)
        for draft in path:
            draft.count(node)

    def _path(self, home: Home, levels: tuple[Level, ...]) -> list[Draft]:
        """The drafts from the root to a home."""
        key = (id(home.call), home.in_backward, levels)
        if key not in self._paths:
            path = [self.root]
            if home.in_backward:
                path.append(self._inside(path[-1], (IN_BACKWARD, "", -1, 0), IN_BACKWARD, ""))
            for level in levels:
                path.append(self._inside(path[-1], (str(level), LEVEL, -1, 0), str(level), ""))
                path[-1].level = level
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


def build(
    graph: Graph,
    where: Sequence[Home] | None = None,
    inside: Collection[int] | None = None,
    absorbed: Collection[int] = (),
    by_level: bool = False,
) -> Group:
    """The tree of module calls; its root is the whole graph and has no name.

    Only nodes `inside` (None: all) are in it; those `absorbed` are counted without a place of their own. With
    `by_level` what was made under torch.func transforms stands in a group for each level.
    """
    places = homes(graph) if where is None else where
    builder = Builder()
    for node in backward_order(graph.nodes):
        if inside is None or node.id in inside:
            builder.add(node, places[node.id], node.levels if by_level else (), node.id in absorbed)
    frozen: dict[int, Group] = {}
    for draft in reversed(builder.drafts):
        children = tuple(_children(draft, frozen))
        frozen[id(draft)] = Group(draft.name, draft.module_class, children, _totals(draft), draft.level)
    return frozen[id(builder.root)]


def _children(draft: Draft, frozen: dict[int, Group]) -> Iterator[Node | Group]:
    """What shows in a group: a group whose nodes are all part of others has nothing left to show."""
    for child in draft.children:
        if isinstance(child, Node):
            yield child
        elif frozen[id(child)].children:
            yield frozen[id(child)]


def _totals(draft: Draft) -> Totals:
    saved = sum(draft.storages.values())
    return Totals(draft.nodes, draft.parameters, saved, draft.hooks, draft.first, draft.last)


def _name(call: ModuleCall) -> str:
    """A call's label without the path of the call around it, nor its number where that call's says it all."""
    outer = call.parent
    if outer is None:
        return call.words
    counted = (call.ordinal, call.ordinals) != (outer.ordinal, outer.ordinals)
    name = call.words if counted else call.path or call.module_class
    return name.removeprefix(outer.path + "." if outer.path else "")
