"""Opens groups: what shows becomes pieces in frames, and each edge of the graph a part of a link between two."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import replace

from gradscope.graphs.absorb import Absorbed
from gradscope.graphs.sums import is_pruned, sums
from gradscope.graphs.walk import backward_order, nodes_of
from gradscope.model.graph import Graph, Node
from gradscope.model.group import Group, Item, Repeat
from gradscope.model.reduced import Folded, Frame, Link, Piece, PieceKind, Reduced


def opened(tree: Group, parts: Parts, depth: int, wanted: frozenset[int]) -> Reduced:
    """The tree with its groups open down to a depth; those `wanted`, by identity, whatever their depth."""
    opening = Opening(parts, depth, wanted)
    opening.open(tree)
    return Reduced(tuple(opening.drafts), tuple(opening.frames), opening.links(), Folded())


class Parts:
    """What stands behind the nodes that show: parameters, views, and how gradients meet."""

    def __init__(self, graph: Graph, inside: frozenset[int], absorbed: Absorbed, shared: frozenset[int]) -> None:
        self.nodes = graph.nodes
        self.absorbed = absorbed
        shown = inside - absorbed.hidden
        self.edges = [edge for edge in graph.edges if edge.source in shown and edge.target in shown]
        self.leaves: dict[int, list[Node]] = defaultdict(list)
        self.views: dict[int, list[Node]] = defaultdict(list)
        for node in backward_order(graph.nodes[node] for node in absorbed.host):
            if node.id not in absorbed.hidden:
                (self.leaves if node.accumulates else self.views)[absorbed.find(node.id)].append(node)
        self.shared = shared
        self.chips: dict[int, dict[int, Node]] = defaultdict(dict)
        for user, held in absorbed.chips.items():
            self.chips[absorbed.find(user)].update((leaf, graph.nodes[leaf]) for leaf in held)
        self.sums = sums(graph)


class Opening:
    """Pieces and frames as groups are opened, and which piece each node ended in."""

    def __init__(self, parts: Parts, depth: int, wanted: frozenset[int]) -> None:
        self.drafts: list[Piece] = []
        self.frames: list[Frame] = []
        self._parts = parts
        self._depth = depth
        self._wanted = wanted
        self._piece_of: dict[int, int] = {}

    def open(self, tree: Group) -> None:
        """Place everything, from the top."""
        waiting: list[tuple[Item, int, int | None]] = [(child, 1, None) for child in reversed(tree.children)]
        while waiting:
            item, level, frame = waiting.pop()
            if isinstance(item, Repeat):
                self._place_repeat(item, frame)
                waiting.extend((part, level, frame) for part in reversed(item.rounds[0]))
            elif isinstance(item, Node):
                self._place_node(item, frame)
            elif item.level is None and level >= self._depth and id(item) not in self._wanted:
                self._place_group(item, frame)
            else:
                self.frames.append(Frame(item, frame))
                inner = len(self.frames) - 1
                deeper = level + (item.level is None)  # a transform's level is no level of modules
                waiting.extend((child, deeper, inner) for child in reversed(item.children))

    def links(self) -> tuple[Link, ...]:
        """The edges between different pieces, those between the same two together."""
        counts: Counter[tuple[int, int]] = Counter()
        went: set[tuple[int, int]] = set()
        for edge in self._parts.edges:
            pair = (self._place(edge.source), self._place(edge.target))
            if pair[0] != pair[1]:
                counts[pair] += 1
                if not is_pruned(self._parts.nodes, edge):
                    went.add(pair)
        return tuple(Link(*pair, count, pair not in went) for pair, count in counts.items())

    def _place(self, node: int) -> int:
        return self._piece_of[self._parts.absorbed.find(node)]

    def _place_node(self, node: Node, frame: int | None) -> None:
        sums = self._parts.sums.get(node.id, 1)
        self._add(Piece(PieceKind.NODE, (node,), frame, sums=sums), (node,))

    def _place_group(self, group: Group, frame: int | None) -> None:
        nodes = tuple(nodes_of((group,)))
        self._add(Piece(PieceKind.GROUP, nodes, frame, group=group), nodes)

    def _place_repeat(self, repeat: Repeat, frame: int | None) -> None:
        """The rounds between the first and the last share a box; the last is closed."""
        between, last = repeat.rounds[1:-1], repeat.rounds[-1]
        nodes = tuple(nodes_of(part for one in between for part in one))
        self._add(Piece(PieceKind.REPEAT, nodes, frame, repeat=repeat), nodes)
        for part in last:
            if isinstance(part, Node):
                self._place_node(part, frame)
            else:
                self._place_group(part, frame)

    def _add(self, piece: Piece, nodes: Iterable[Node]) -> None:
        held = [node.id for node in nodes]
        self._piece_of.update(dict.fromkeys(held, len(self.drafts)))
        leaves = tuple(leaf for node in held for leaf in self._parts.leaves.get(node, ()))
        views = tuple(view for node in held for view in self._parts.views.get(node, ()))
        chips = {leaf: node for host in held for leaf, node in self._parts.chips.get(host, {}).items()}
        self.drafts.append(replace(piece, leaves=leaves, views=views, chips=tuple(chips.values())))
