"""Draws a graph: groups opened as deep as fits, the rest closed boxes, arrows between boxes merged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from gradscope.graphs.depth import fitting_depth
from gradscope.graphs.fold import fold
from gradscope.graphs.tree import build
from gradscope.graphs.walk import nodes_of
from gradscope.model.graph import Edge, Node
from gradscope.model.group import Group, Item, Repeat
from gradscope.view.chain import join_chains
from gradscope.view.drawing import Arrow, Box, Cluster, Drawing
from gradscope.view.line import node_role, repeat_words
from gradscope.view.role import Role
from gradscope.view.scene import Scene
from gradscope.view.title import title
from gradscope.view.words import amount, is_plain, leaf_words, place, short_name, size

MOST_BOXES = 150


def draw(scene: Scene) -> Drawing:
    """The picture of a scene."""
    tree = fold(build(scene.graph))
    depth = fitting_depth(tree, MOST_BOXES) if scene.depth is None else scene.depth
    sketch = Sketch(scene, depth)
    sketch.place(tree)
    arrows = sketch.arrows(scene.graph.edges)
    drawing = Drawing(title(scene), tuple(sketch.boxes), arrows, tuple(sketch.clusters))
    if scene.depth is None and len(drawing.boxes) > MOST_BOXES:
        return join_chains(drawing, {sketch.box_of[node.id]: node for node in scene.graph.nodes if sketch.joins(node)})
    return drawing


class Sketch:
    """Boxes as they are placed, and which box each node ended in."""

    def __init__(self, scene: Scene, depth: int) -> None:
        self.boxes: list[Box] = []
        self.clusters: list[Cluster] = []
        self.box_of: dict[int, int] = {}
        self._roots = frozenset(scene.graph.roots)
        self._folder = scene.run.cwd
        self._depth = depth
        self._single: set[int] = set()

    def place(self, tree: Group) -> None:
        """Place everything, opening groups down to the depth."""
        waiting: list[tuple[Item, int, int | None]] = [(child, 1, None) for child in reversed(tree.children)]
        while waiting:
            item, level, cluster = waiting.pop()
            if isinstance(item, Repeat):
                self._place_repeat(item, cluster)
                waiting.extend((part, level, cluster) for part in reversed(item.rounds[0]))
            elif isinstance(item, Node):
                self._place_node(item, cluster)
            elif level >= self._depth:
                self._add(item.name, _group_notes(item), {Role.GROUP}, cluster, (item,))
            else:
                self.clusters.append(Cluster(_group_title(item), cluster))
                inner = len(self.clusters) - 1
                waiting.extend((child, level + 1, inner) for child in reversed(item.children))

    def arrows(self, edges: Iterable[Edge]) -> tuple[Arrow, ...]:
        """The edges between different boxes, those between the same two together."""
        pairs = ((self.box_of[edge.source], self.box_of[edge.target]) for edge in edges)
        counts = Counter(pair for pair in pairs if pair[0] != pair[1])
        return tuple(Arrow(tail, head, count) for (tail, head), count in counts.items())

    def joins(self, node: Node) -> bool:
        """Whether a node has a box of its own that may be joined with its neighbours."""
        return node.id in self._single and is_plain(node) and not node.accumulates and node.id not in self._roots

    def _place_repeat(self, repeat: Repeat, cluster: int | None) -> None:
        """The rounds between the first and the last share a box; the last is closed."""
        between, last = repeat.rounds[1:-1], repeat.rounds[-1]
        self._add(
            f"⋮ {repeat_words(repeat, between)}", (), {Role.FOLDED}, cluster, [part for one in between for part in one]
        )
        for part in last:
            if isinstance(part, Node):
                self._place_node(part, cluster)
            else:
                self._add(part.name, _group_notes(part), {Role.GROUP}, cluster, (part,))

    def _place_node(self, node: Node, cluster: int | None) -> None:
        self._single.add(node.id)
        self._add(short_name(node), _node_notes(node, self._folder), _node_roles(node, self._roots), cluster, (node,))

    def _add(
        self, name: str, notes: tuple[str, ...], roles: set[Role], cluster: int | None, items: Iterable[Item]
    ) -> None:
        self.box_of.update((node.id, len(self.boxes)) for node in nodes_of(items))
        self.boxes.append(Box(name, notes, frozenset(roles), cluster))


def _node_notes(node: Node, folder: str) -> tuple[str, ...]:
    """What stands under a node's name, a line each."""
    types = [str(meta) for meta in node.inputs_meta if meta is not None]
    keeps = sum({tensor.storage: tensor.bytes for tensor in node.saved if tensor.leaf is None}.values())
    notes = (
        leaf_words(node.leaf) if node.leaf is not None else None,
        types[0] if types else None,
        f"saves {size(keeps)}" if keeps else None,
        amount(len(node.hooks), "hook") if node.hooks else None,
        place(node.site, folder) if node.site else None,
    )
    return tuple(note for note in notes if note)


def _node_roles(node: Node, roots: frozenset[int]) -> set[Role]:
    roles = {node_role(node, node.id in roots)}
    if any(tensor.leaf is None for tensor in node.saved):
        roles.add(Role.SAVED)
    if node.hooks:
        roles.add(Role.HOOKED)
    return roles


def _group_title(group: Group) -> str:
    return f"{group.name}  {group.module_class}" if group.module_class not in ("", group.name) else group.name


def _group_notes(group: Group) -> tuple[str, ...]:
    totals = group.totals
    words = [group.module_class] if group.module_class not in ("", group.name) else []
    words.append(amount(totals.nodes, "node"))
    if totals.parameters:
        words.append(amount(totals.parameters, "param"))
    if totals.saved_bytes:
        words.append(f"saves {size(totals.saved_bytes)}")
    return (" · ".join(words),)
