"""Builds the tree of module calls of a graph, everything in backward order."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import cast

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
    own: list[Node] = field(default_factory=list)  # in backward order, those that are absorbed as well
    storages: dict[int, int] = field(default_factory=dict)
    nodes: int = 0
    parameters: int = 0
    hooks: int = 0
    first: int | None = None
    last: int | None = None
    level: Level | None = None

    def count_own(self) -> None:
        """Add the nodes that stand in this group itself, once they are all there."""
        own = self.own
        self.nodes += len(own)
        for node in own:
            if node.accumulates:
                self.parameters += 1
            if node.saved:
                self.storages.update([(one.storage, one.bytes) for one in node.saved if one.leaf is None])
            if node.hooks:
                self.hooks += len(node.hooks)
        if own and own[0].order is not None:  # those that did not run stand last
            last = own[-1].order
            if last is None:
                last = next(node.order for node in reversed(own) if node.order is not None)
            self._reach(own[0].order, last)

    def add_inner(self, inner: Draft) -> None:
        """Add what a group inside has counted."""
        self.nodes += inner.nodes
        self.parameters += inner.parameters
        self.hooks += inner.hooks
        self.storages.update(inner.storages)
        if inner.first is not None and inner.last is not None:
            self._reach(inner.first, inner.last)

    def _reach(self, first: int, last: int) -> None:
        """Be at least from one place to another."""
        self.first = first if self.first is None else min(self.first, first)
        self.last = last if self.last is None else max(self.last, last)


class Builder:
    """Fills drafts, one path of calls at a time."""

    def __init__(self) -> None:
        self.root = Draft("", "", None)
        self.drafts = [self.root]
        self._known: dict[tuple[bool, tuple[Level, ...]], dict[int, Draft]] = {}  # by the identity of the call

    def fill(self, nodes: Iterable[Node], places: Sequence[Home], absorbed: Collection[int], by_level: bool) -> None:
        """Put nodes into their groups; those that are absorbed are counted there and not shown."""
        last, its_levels, draft = Home(), tuple[Level, ...](), self.root
        for node in nodes:
            home, levels = places[node.id], node.levels if by_level else ()
            if home is not last or levels is not its_levels:  # they are not, for nearly all neighbours
                last, its_levels, draft = home, levels, self._innermost(home, levels)
            draft.own.append(node)
            if node.id not in absorbed:
                draft.children.append(node)

    def _innermost(self, home: Home, levels: tuple[Level, ...]) -> Draft:
        """The draft of a home; those around it are made with it."""
        inside = self._known.setdefault((home.in_backward, levels), {})
        if not inside:
            inside[id(None)] = self._outermost(home.in_backward, levels)
        missing: list[ModuleCall] = []
        call = home.call
        while call is not None and id(call) not in inside:
            missing.append(call)
            call = call.parent
        draft = inside[id(call)]
        for call in reversed(missing):
            draft = inside[id(call)] = self._inside(draft, call_key(call), _name(call), call.module_class)
        return draft

    def _outermost(self, in_backward: bool, levels: tuple[Level, ...]) -> Draft:
        """The draft of what belongs to no module call."""
        draft = self.root
        if in_backward:
            draft = self._inside(draft, (IN_BACKWARD, "", -1, 0), IN_BACKWARD, "")
        for level in levels:
            draft = self._inside(draft, (str(level), LEVEL, -1, 0), str(level), "")
            draft.level = level
        return draft

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
    nodes = backward_order(graph.nodes)
    builder = Builder()
    builder.fill(nodes if inside is None else [one for one in nodes if one.id in inside], places, absorbed, by_level)
    frozen: dict[int, Group] = {}
    for draft in reversed(builder.drafts):
        draft.count_own()
        children = tuple(_children(draft, frozen))
        frozen[id(draft)] = Group(draft.name, draft.module_class, children, _totals(draft), draft.level)
        if draft.around is not None:
            draft.around.add_inner(draft)
    return frozen[id(builder.root)]


def _children(draft: Draft, frozen: dict[int, Group]) -> Iterable[Node | Group]:
    """What shows in a group: a group whose nodes are all part of others has nothing left to show."""
    if not draft.inner:
        return cast("list[Node | Group]", draft.children)
    found = [child if isinstance(child, Node) else frozen[id(child)] for child in draft.children]
    return [child for child in found if isinstance(child, Node) or child.children]


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
