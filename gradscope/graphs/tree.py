"""Builds the tree of module calls of a graph, everything in backward order."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import cast

from gradscope.graphs.home import CallKey, Home, call_key, homes
from gradscope.graphs.walk import backward_order
from gradscope.model.graph import Graph, Level, Node
from gradscope.model.group import Group
from gradscope.model.module import ModuleCall

IN_BACKWARD = "backward"
LEVEL = "a torch.func level"


@dataclass(eq=False, slots=True)
class Draft:
    """A group while it fills; drafts are made after those around them, which freezing relies on."""

    name: str
    module_class: str
    level: Level | None = None
    children: list[Node | Draft] = field(default_factory=list)
    holds_groups: bool = False


class Builder:
    """Fills drafts, one path of calls at a time."""

    def __init__(self) -> None:
        self.root = Draft("", "")
        self.drafts = [self.root]
        self._inside_of: dict[tuple[int, CallKey], Draft] = {}  # by the identity of the draft around it
        self._known: dict[tuple[bool, tuple[Level, ...]], dict[int, Draft]] = {}  # by the identity of the call

    def fill(self, nodes: Iterable[Node], places: Sequence[Home], absorbed: Collection[int], by_level: bool) -> None:
        """Put nodes into their groups; those that are absorbed are not shown, and their groups stand where they did."""
        last, its_levels, draft = Home(), tuple[Level, ...](), self.root
        for node in nodes:
            home, levels = places[node.id], node.levels if by_level else ()
            if home is not last or levels is not its_levels:  # they are not, for nearly all neighbours
                last, its_levels, draft = home, levels, self._innermost(home, levels)
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
            draft = self._inside(draft, (str(level), LEVEL, -1, 0), str(level), "", level)
        return draft

    def _inside(self, around: Draft, key: CallKey, name: str, module_class: str, level: Level | None = None) -> Draft:
        place = id(around), key
        found = self._inside_of.get(place)
        if found is None:
            found = self._inside_of[place] = Draft(name, module_class, level)
            around.children.append(found)
            around.holds_groups = True
            self.drafts.append(found)
        return found


def build(
    graph: Graph,
    where: Sequence[Home] | None = None,
    inside: Collection[int] | None = None,
    absorbed: Collection[int] = (),
    by_level: bool = False,
) -> Group:
    """The tree of module calls; its root is the whole graph and has no name.

    Only nodes `inside` (None: all) are in it, those `absorbed` without a place of their own. With
    `by_level` what was made under torch.func transforms stands in a group for each level.
    """
    places = homes(graph) if where is None else where
    nodes = backward_order(graph.nodes)
    builder = Builder()
    builder.fill(nodes if inside is None else [one for one in nodes if one.id in inside], places, absorbed, by_level)
    frozen: dict[int, Group] = {}
    for draft in reversed(builder.drafts):
        frozen[id(draft)] = Group(draft.name, draft.module_class, tuple(_children(draft, frozen)), draft.level)
    return frozen[id(builder.root)]


def _children(draft: Draft, frozen: dict[int, Group]) -> Iterable[Node | Group]:
    """What shows in a group: a group whose nodes are all part of others has nothing left to show."""
    if not draft.holds_groups:
        return cast("list[Node | Group]", draft.children)
    found = [child if isinstance(child, Node) else frozen[id(child)] for child in draft.children]
    return [child for child in found if isinstance(child, Node) or child.children]


def _name(call: ModuleCall) -> str:
    """A call's label without the path of the call around it, nor its number where that call's says it all."""
    outer = call.parent
    if outer is None:
        return call.words
    counted = (call.ordinal, call.ordinals) != (outer.ordinal, outer.ordinals)
    name = call.words if counted else call.path or call.module_class
    return name.removeprefix(outer.path + "." if outer.path else "")
