"""Makes a graph small enough to look at: one function, all rules, each with its switch in `Rules`."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterable
from dataclasses import replace

from gradscope.graphs.absorb import Absorbed, absorb
from gradscope.graphs.chain import join_chains
from gradscope.graphs.crowd import LONG_RUN, join_crowds, join_runs, join_twins
from gradscope.graphs.depth import fitting_depth
from gradscope.graphs.focus import around
from gradscope.graphs.fold import fold
from gradscope.graphs.frames import without_lone_frames
from gradscope.graphs.home import homes
from gradscope.graphs.rules import MOST_CHILDREN, Rules
from gradscope.graphs.tree import build
from gradscope.graphs.walk import backward_order, nodes_of
from gradscope.model.graph import Edge, Graph, Node
from gradscope.model.group import Group, Item, Repeat
from gradscope.model.reduced import Folded, Frame, Kind, Link, Piece, Reduced


def reduce(graph: Graph, rules: Rules) -> Reduced:
    """The graph as pieces, frames and links, in backward order."""
    inside = frozenset(range(len(graph.nodes)))
    if rules.focus is not None:
        inside = around(graph, rules.focus, rules.radius)
    where = homes(graph)
    absorbed = absorb(graph, inside, where, rules)
    by_level = any(node.levels for node in graph.nodes)
    tree = build(graph, where, inside, absorbed.host, by_level)
    if rules.fold:
        tree = fold(tree, _marks(graph, absorbed, rules))
    opened = _open(graph, tree, rules, Parts(graph, inside, absorbed))
    reduced = Reduced(opened.pieces(), tuple(opened.frames), opened.links(), Folded())
    if rules.fold:
        reduced = without_lone_frames(_joined(reduced, rules, rules.must | set(graph.roots)))
    return replace(reduced, folded=_folded(reduced, absorbed, len(graph.nodes) - len(inside)))


def unabridged(graph: Graph, rules: Rules) -> Group:
    """The tree for text, where a node costs a line only: views and parameters keep their places.

    Of the rules the focus holds, repeats are folded, and parameters may be left out.
    """
    inside = frozenset(range(len(graph.nodes)))
    if rules.focus is not None:
        inside = around(graph, rules.focus, rules.radius)
    if rules.params is False:
        kept = rules.must | set(graph.roots)
        inside -= {node.id for node in graph.nodes if node.accumulates and node.id not in kept}
    tree = build(graph, inside=inside)
    return fold(tree, {node: node for node in rules.must}) if rules.fold else tree


def _joined(reduced: Reduced, rules: Rules, kept: frozenset[int]) -> Reduced:
    """Twins always, chains and crowds where there is no other way to make it fit."""
    reduced = join_twins(reduced, _loose(reduced, kept))
    if rules.depth is None and len(reduced.pieces) > rules.most:
        reduced = join_runs(reduced, _loose(reduced, kept, parameters=True))
    if rules.depth is None and len(reduced.pieces) > rules.most:
        reduced = join_chains(reduced, _loose(reduced, kept))
    most = rules.most if rules.depth is None else MOST_CHILDREN
    return join_crowds(reduced, most, _loose(reduced, kept, parameters=True))


def _loose(reduced: Reduced, kept: frozenset[int], parameters: bool = False) -> frozenset[int]:
    """The pieces that may become one with others: nothing about them would be missed.

    Parameters that several nodes use are among them only where there is no other way to make it fit.
    """
    return frozenset(
        number
        for number, piece in enumerate(reduced.pieces)
        if not any(node.id in kept for node in piece.nodes)
        and (piece.kind is not Kind.NODE or _is_plain(piece.nodes[0], parameters))
    )


def _marks(graph: Graph, absorbed: Absorbed, rules: Rules) -> dict[int, Hashable]:
    """What makes a node another than its like: parts that were folded into it, or that it must show."""
    parts: dict[int, list[str]] = defaultdict(list)
    for node in absorbed.host:
        if node not in absorbed.hidden:
            parts[absorbed.find(node)].append(graph.nodes[node].name)
    marks: dict[int, Hashable] = {host: tuple(sorted(names)) for host, names in parts.items()}
    return {**marks, **{node: node for node in rules.must}}


def _open(graph: Graph, tree: Group, rules: Rules, parts: Parts) -> Opening:
    """Open groups as deep as fits, and around what must show; around what should show while there is room."""
    depth = _depth(tree, rules) if rules.depth is None else rules.depth
    opening = Opening(parts, depth, _around(tree, rules.must))
    opening.open(tree)
    opening.opened.add(id(tree))
    if rules.depth is not None:
        return opening
    should = rules.must | set(graph.roots) | {node.id for node in graph.nodes if _should_show(node, parts)}
    wanted = _around(tree, should)
    if wanted <= opening.opened:
        return opening
    wider = Opening(parts, depth, wanted)
    wider.open(tree)
    return wider if len(wider.drafts) <= rules.most else opening


def _depth(tree: Group, rules: Rules) -> int:
    """The depth that fits; where not even the outermost calls do, the one that fits once long runs are joined."""
    crowded = len(tree.children) > rules.most and rules.fold
    return fitting_depth(tree, rules.most, LONG_RUN if crowded else None)


def _should_show(node: Node, parts: Parts) -> bool:
    return bool(node.hooks) or node.function is not None or (node.accumulates and parts.uses[node.id] > 1)


def _around(tree: Group, wanted: Collection[int]) -> frozenset[int]:
    """The identities of all groups with one of these nodes inside; repeats stay closed."""
    found: set[int] = set()
    if not wanted:
        return frozenset()
    waiting: list[tuple[Item, tuple[int, ...]]] = [(tree, ())]
    while waiting:
        item, path = waiting.pop()
        if isinstance(item, Node):
            if item.id in wanted:
                found.update(path)
        elif isinstance(item, Group):
            inner = (*path, id(item))
            waiting.extend((child, inner) for child in item.children)
        else:
            waiting.extend((part, path) for part in item.rounds[0])
    return frozenset(found)


class Parts:
    """What stands behind the nodes that show: parameters, views, and how gradients meet."""

    def __init__(self, graph: Graph, inside: frozenset[int], absorbed: Absorbed) -> None:
        self.nodes = graph.nodes
        self.absorbed = absorbed
        shown = inside - absorbed.hidden
        self.edges = [edge for edge in graph.edges if edge.source in shown and edge.target in shown]
        self.leaves: dict[int, list[Node]] = defaultdict(list)
        self.views: dict[int, list[Node]] = defaultdict(list)
        for node in backward_order(graph.nodes[node] for node in absorbed.host):
            if node.id not in absorbed.hidden:
                (self.leaves if node.accumulates else self.views)[absorbed.find(node.id)].append(node)
        self.uses = Counter(edge.target for edge in graph.edges)
        arrivals = Counter((edge.target, edge.input_nr) for edge in graph.edges if not _pruned(graph.nodes, edge))
        self.sums: dict[int, int] = {}
        for (target, _), count in arrivals.items():
            self.sums[target] = max(count, self.sums.get(target, 1))


class Opening:
    """Pieces and frames as groups are opened, and which piece each node ended in."""

    def __init__(self, parts: Parts, depth: int, wanted: frozenset[int]) -> None:
        self.drafts: list[Piece] = []
        self.frames: list[Frame] = []
        self.opened: set[int] = set()
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
                self.opened.add(id(item))
                inner = len(self.frames) - 1
                deeper = level + (item.level is None)  # a transform's level is no level of modules
                waiting.extend((child, deeper, inner) for child in reversed(item.children))

    def pieces(self) -> tuple[Piece, ...]:
        """Everything that was placed."""
        return tuple(self.drafts)

    def links(self) -> tuple[Link, ...]:
        """The edges between different pieces, those between the same two together."""
        counts: Counter[tuple[int, int]] = Counter()
        went: set[tuple[int, int]] = set()
        for edge in self._parts.edges:
            pair = (self._place(edge.source), self._place(edge.target))
            if pair[0] != pair[1]:
                counts[pair] += 1
                if not _pruned(self._parts.nodes, edge):
                    went.add(pair)
        return tuple(Link(*pair, count, pair not in went) for pair, count in counts.items())

    def _place(self, node: int) -> int:
        return self._piece_of[self._parts.absorbed.find(node)]

    def _place_node(self, node: Node, frame: int | None) -> None:
        sums = self._parts.sums.get(node.id, 1)
        self._add(Piece(Kind.NODE, (node,), frame, sums=sums), (node,))

    def _place_group(self, group: Group, frame: int | None) -> None:
        nodes = tuple(nodes_of((group,)))
        self._add(Piece(Kind.GROUP, nodes, frame, group=group), nodes)

    def _place_repeat(self, repeat: Repeat, frame: int | None) -> None:
        """The rounds between the first and the last share a box; the last is closed."""
        between, last = repeat.rounds[1:-1], repeat.rounds[-1]
        nodes = tuple(nodes_of(part for one in between for part in one))
        self._add(Piece(Kind.REPEAT, nodes, frame, repeat=repeat), nodes)
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
        self.drafts.append(replace(piece, leaves=leaves, views=views))


def _is_plain(node: Node, parameters: bool) -> bool:
    bare = not node.hooks and node.function is None and node.order is not None
    return bare and (parameters or not node.accumulates)


def _pruned(nodes: tuple[Node, ...], edge: Edge) -> bool:
    """Whether the engine sent no gradient along an edge: one of its ends did not run."""
    return nodes[edge.source].order is None or nodes[edge.target].order is None


def _folded(reduced: Reduced, absorbed: Absorbed, outside: int) -> Folded:
    by_kind: Counter[Kind] = Counter()
    for piece in reduced.pieces:
        by_kind[piece.kind] += len(piece.nodes) + len(piece.leaves) + len(piece.views)
    return Folded(
        parameters=sum(len(piece.leaves) for piece in reduced.pieces if piece.kind is Kind.NODE),
        views=sum(len(piece.views) for piece in reduced.pieces if piece.kind is Kind.NODE),
        closed=by_kind[Kind.GROUP],
        repeated=by_kind[Kind.REPEAT],
        joined=by_kind[Kind.CHAIN] + by_kind[Kind.CROWD],
        hidden=len(absorbed.hidden),
        outside=outside,
    )
