"""Builds the tree of module calls of a graph, everything in backward order."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from gradscope.graphs.home import CallKey, Home, call_key, homes
from gradscope.graphs.walk import backward_order
from gradscope.model.graph import Graph, Level, Node
from gradscope.model.group import Group
from gradscope.model.module import ModuleCall

IN_BACKWARD = "backward"
LEVEL = "a torch.func level"
Inside = list[Node | Group]  # what stands in a group, while it fills


class Builder:
    """Fills groups, one path of calls at a time."""

    def __init__(self) -> None:
        self.root = Group("", "", ())
        # Each group with what comes to stand in it; those around before those inside.
        self._filled: list[tuple[Group, Inside]] = [(self.root, [])]
        self._inside_of: dict[tuple[int, CallKey], Inside] = {}  # by the identity of what is around it
        self._known: dict[tuple[bool, tuple[Level, ...]], dict[int, Inside]] = {}  # by the identity of the call

    def fill(self, nodes: Iterable[Node], places: Sequence[Home], absorbed: Collection[int], by_level: bool) -> None:
        """Put nodes into their groups; those that are absorbed are not shown, and their groups stand where they did."""
        last, its_levels, inside = Home(), tuple[Level, ...](), self._filled[0][1]
        for node in nodes:
            home, levels = places[node.id], node.levels if by_level else ()
            if home is not last or levels is not its_levels:  # they are not, for nearly all neighbours
                last, its_levels, inside = home, levels, self._innermost(home, levels)
            if node.id not in absorbed:
                inside.append(node)

    def finished(self) -> Group:
        """The root, with everything in its place; a group whose nodes are all part of others shows nothing."""
        for group, inside in reversed(self._filled):
            group.children = tuple([child for child in inside if isinstance(child, Node) or child.children])
        return self.root

    def _innermost(self, home: Home, levels: tuple[Level, ...]) -> Inside:
        """What stands in the group of a home; those around are made with it."""
        known = self._known.setdefault((home.in_backward, levels), {})
        if not known:
            known[id(None)] = self._outermost(home.in_backward, levels)
        missing: list[ModuleCall] = []
        call = home.call
        while call is not None and id(call) not in known:
            missing.append(call)
            call = call.parent
        inside = known[id(call)]
        for call in reversed(missing):
            inside = known[id(call)] = self._inside(inside, call_key(call), _name(call), call.module_class)
        return inside

    def _outermost(self, in_backward: bool, levels: tuple[Level, ...]) -> Inside:
        """Where that stands which belongs to no module call."""
        inside = self._filled[0][1]
        if in_backward:
            inside = self._inside(inside, (IN_BACKWARD, "", -1, 0), IN_BACKWARD, "")
        for level in levels:
            inside = self._inside(inside, (str(level), LEVEL, -1, 0), str(level), "", level)
        return inside

    def _inside(self, around: Inside, key: CallKey, name: str, module_class: str, level: Level | None = None) -> Inside:
        place = id(around), key
        if place not in self._inside_of:
            group = Group(name, module_class, (), level)
            around.append(group)
            self._inside_of[place] = []
            self._filled.append((group, self._inside_of[place]))
        return self._inside_of[place]


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
    return builder.finished()


def _name(call: ModuleCall) -> str:
    """A call's label without the path of the call around it, nor its number where that call's says it all."""
    outer = call.parent
    if outer is None:
        return call.words
    counted = (call.ordinal, call.ordinals) != (outer.ordinal, outer.ordinals)
    name = call.words if counted else call.path or call.module_class
    return name.removeprefix(outer.path + "." if outer.path else "")
