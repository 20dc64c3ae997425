"""Makes a graph small enough to look at: one function, all rules, each with its switch in `Rules`."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator
from dataclasses import replace
from functools import partial

from gradscope.graphs.absorb import Absorbed, absorb
from gradscope.graphs.alike import join_alike, join_parameters
from gradscope.graphs.around import groups_around, height
from gradscope.graphs.chain import join_chains
from gradscope.graphs.crowd import LONG_RUN, join_crowds, join_rows, join_runs, join_twins
from gradscope.graphs.depth import fitting_depth
from gradscope.graphs.focus import around
from gradscope.graphs.fold import fold
from gradscope.graphs.frames import without_lone_frames
from gradscope.graphs.home import homes
from gradscope.graphs.loops import Loops
from gradscope.graphs.opening import Parts, opened
from gradscope.graphs.rules import MOST_CHILDREN, Rules
from gradscope.graphs.special import likeness, mark, shared_parameters, specials
from gradscope.graphs.tree import build
from gradscope.model.graph import Graph, Node
from gradscope.model.group import Group
from gradscope.model.reduced import Folded, PieceKind, Reduced

ROOM_FOR_SPECIALS = 2 / 3  # of the boxes of a picture, before those of a kind share one


def reduce(graph: Graph, rules: Rules) -> Reduced:
    """The graph as pieces, frames and links, in backward order."""
    inside = frozenset(range(len(graph.nodes)))
    if rules.focus is not None:
        inside = around(graph, rules.focus, rules.radius)
    rules = replace(rules, keep=inside & (rules.keep | set(graph.roots)))  # outputs always show
    where, shared = homes(graph), shared_parameters(graph)
    absorbed = absorb(graph, inside, where, rules, shared)
    by_level = any(node.levels for node in graph.nodes)
    tree = build(graph, where, inside, absorbed.host, by_level)
    if rules.fold:
        tree = fold(tree, _marks(graph, absorbed, rules, shared), Loops(graph.edges, absorbed.find, rules.step))
    parts = Parts(graph, inside, absorbed, shared)
    reduced = _fitted(tree, parts, rules, (specials(graph, shared) & inside) - absorbed.hidden)
    if rules.fold:
        reduced = without_lone_frames(reduced)
    return replace(reduced, folded=_folded(reduced, absorbed, len(graph.nodes) - len(inside)))


def unabridged(graph: Graph, rules: Rules) -> Group:
    """The tree for text, where a node costs a line only: views and parameters keep their places.

    Of the rules the focus holds, repeats are folded, and parameters may be left out.
    """
    inside = None if rules.focus is None else around(graph, rules.focus, rules.radius)
    if rules.params is False:
        kept = rules.must | set(graph.roots)
        shown = range(len(graph.nodes)) if inside is None else inside
        inside = frozenset(node for node in shown if node in kept or not graph.nodes[node].accumulates)
    tree = build(graph, inside=inside)
    if not rules.fold:
        return tree
    return fold(tree, {node: node for node in rules.must | set(graph.roots)}, Loops(graph.edges, step=rules.step))


def _fitted(tree: Group, parts: Parts, rules: Rules, special: frozenset[int]) -> Reduced:
    """What fits: open around what must show; around special nodes as deep as there is room, then around the rest.

    Closed boxes say which special nodes they hold.
    """
    must, _ = groups_around(tree, rules.must)
    if rules.depth is not None:
        return _joined(opened(tree, parts, rules.depth, must), rules, parts.shared, MOST_CHILDREN)
    most = max(rules.most, len(rules.must) + rules.most // 2)
    for wanted in _widths(tree, must, special, most):
        depth = _depth(tree, rules, wanted, most)
        reduced = _joined(opened(tree, parts, depth, wanted), rules, parts.shared, most)
        if len(reduced.pieces) <= most:
            break
    return reduced


def _widths(tree: Group, must: frozenset[int], special: frozenset[int], most: int) -> Iterator[frozenset[int]]:
    """Which groups to open, whatever the depth: those around all special nodes, then fewer, in the end none of them."""
    tried = None
    for deepest in range(height(tree) if special else 0, 0, -1):
        inner, boxes = groups_around(tree, special, deepest)
        wanted = must | inner
        if boxes <= most and wanted != tried:
            yield wanted
            tried = wanted
    yield must


def _depth(tree: Group, rules: Rules, wanted: frozenset[int], most: int) -> int:
    """The depth that fits; where not even the outermost calls do, the one that fits once long runs are joined."""
    crowded = len(tree.children) > most and rules.fold
    return fitting_depth(tree, most, LONG_RUN if crowded else None, wanted)


def _joined(reduced: Reduced, rules: Rules, shared: frozenset[int], most: int) -> Reduced:
    """Twins and rows always; runs, chains, special nodes of a kind, and crowds where else it would not fit."""
    if not rules.fold:
        return reduced
    reduced = join_twins(reduced, _loose(reduced, rules, shared))
    reduced = join_rows(reduced, _loose(reduced, rules, shared) & _singles(reduced).keys())
    if rules.params is None:
        reduced = join_parameters(reduced, _shared(reduced, rules, shared))
    if rules.depth is None and len(reduced.pieces) > most:
        loose = _loose(reduced, rules, shared, parameters=True)
        reduced = join_runs(reduced, loose & _singles(reduced).keys())
    if rules.depth is None and len(reduced.pieces) > most:
        reduced = join_chains(reduced, _loose(reduced, rules, shared))
    for key in (likeness, mark) if len(reduced.pieces) > most else ():
        room = int(most * ROOM_FOR_SPECIALS)
        reduced = join_alike(reduced, room, _apart(reduced, rules, shared), partial(key, shared=shared))
    return join_crowds(reduced, most, _loose(reduced, rules, shared, parameters=True))


def _loose(reduced: Reduced, rules: Rules, shared: frozenset[int], parameters: bool = False) -> frozenset[int]:
    """The pieces that may become one with any other: nothing about them would be missed.

    Parameters that have boxes are among them only where there is no other way to make it fit.
    """
    singles = _singles(reduced)
    several = {
        place for place, piece in enumerate(reduced.pieces) if piece.kind not in (PieceKind.NODE, PieceKind.ALIKE)
    }
    plain = {place for place, node in singles.items() if _is_plain(node, rules, shared)}
    return frozenset(several | {place for place in plain if parameters or not singles[place].accumulates})


def _apart(reduced: Reduced, rules: Rules, shared: frozenset[int]) -> frozenset[int]:
    """The single nodes that may become one with their like only."""
    singles = _singles(reduced).items()
    return frozenset(
        place for place, node in singles if node.id not in rules.must and not _is_plain(node, rules, shared)
    )


def _shared(reduced: Reduced, rules: Rules, shared: frozenset[int]) -> frozenset[int]:
    """The parameters with several users, and nothing else about them."""
    singles = _singles(reduced).items()
    plain = {place for place, node in singles if not node.hooks and node.order is not None and node.id in shared}
    return frozenset(place for place in plain if reduced.pieces[place].nodes[0].id not in rules.must)


def _singles(reduced: Reduced) -> dict[int, Node]:
    return {place: piece.nodes[0] for place, piece in enumerate(reduced.pieces) if piece.kind is PieceKind.NODE}


def _is_plain(node: Node, rules: Rules, shared: frozenset[int]) -> bool:
    special = bool(node.hooks) or node.function is not None or node.id in shared
    return not special and node.order is not None and node.id not in rules.must


def _marks(graph: Graph, absorbed: Absorbed, rules: Rules, shared: frozenset[int]) -> dict[int, Hashable]:
    """What makes a node another than its like: parts that were folded into it, or that it must show."""
    parts: dict[int, list[str]] = defaultdict(list)
    for node in absorbed.host:
        if node not in absorbed.hidden:
            parts[absorbed.find(node)].append(graph.nodes[node].name)
    marks: dict[int, Hashable] = {host: tuple(sorted(names)) for host, names in parts.items()}
    return {**marks, **dict.fromkeys(shared, "shared"), **{node: node for node in rules.must}}


def _folded(reduced: Reduced, absorbed: Absorbed, outside: int) -> Folded:
    by_kind: Counter[PieceKind] = Counter()
    chips = {leaf for held in absorbed.chips.values() for leaf in held}
    for piece in reduced.pieces:
        by_kind[piece.kind] += len(piece.nodes) + len(piece.leaves) + len(piece.views)
    return Folded(
        parameters=sum(len(piece.leaves) for piece in reduced.pieces if piece.kind is PieceKind.NODE),
        views=sum(len(piece.views) for piece in reduced.pieces if piece.kind is PieceKind.NODE),
        closed=by_kind[PieceKind.GROUP],
        repeated=by_kind[PieceKind.REPEAT],
        joined=by_kind[PieceKind.CHAIN] + by_kind[PieceKind.CROWD] + by_kind[PieceKind.ALIKE],
        hidden=len(absorbed.hidden) - len(chips),
        chips=len(chips),
        outside=outside,
    )
