"""Tells what stands in a box: its name, what comes in, what it keeps, whose parameters it feeds, which line made it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from gradscope.graphs.special import shared_parameters
from gradscope.model.graph import Node
from gradscope.model.group import Group
from gradscope.model.reduced import Piece, PieceKind
from gradscope.model.tensor import SavedTensor
from gradscope.view.details import Details, some
from gradscope.view.drawing import Box, Row
from gradscope.view.line import node_role
from gradscope.view.marks import marks
from gradscope.view.role import Role
from gradscope.view.rounds import MARK, round_words
from gradscope.view.scene import Scene, Show
from gradscope.view.words import TIMES, amount, kinds, leaf_words, place, short_name, size

MOST_CHIPS = 3


class Teller:
    """Turns pieces into boxes, saying as much as the scene asks for."""

    def __init__(self, scene: Scene) -> None:
        self._show = scene.show
        self._folder = scene.run.cwd
        self._roots = frozenset(scene.graph.roots)
        self._uses = Counter(head for _, head in {(edge.source, edge.target) for edge in scene.graph.edges})
        self._shared = shared_parameters(scene.graph)
        self._must = scene.rules.must
        self._details = Details(scene)

    def box(self, piece: Piece) -> Box:
        """The box of a piece."""
        if piece.kind is PieceKind.NODE:
            return self._node(piece, piece.nodes[0])
        title, notes, roles = self._several(piece)
        title = self._ordered(title, (*piece.nodes, *piece.views, *piece.leaves))
        return Box(title, notes, roles, piece.frame, tuple(self._totals(piece)))

    def _node(self, piece: Piece, node: Node) -> Box:
        roles = {node_role(node, node.id in self._roots)}
        rows = tuple(self._rows(piece, node))
        if any(tensor.leaf is None for tensor in node.saved):
            roles.add(Role.SAVED)
        if node.id in self._must:
            roles.add(Role.FOCUS)
        if any(row.role is Role.FINDING for row in rows):
            roles.add(Role.FINDING)
        title = self._ordered(short_name(node), (node,))
        return Box(title, tuple(self._notes(piece, node)), frozenset(roles), piece.frame, rows)

    def _notes(self, piece: Piece, node: Node) -> Iterator[str]:
        """Plain words, a line each."""
        if piece.calls:
            yield _call_words(piece.calls)
        if node.leaf is not None:
            yield leaf_words(node.leaf)
        types = [str(meta) for meta in node.inputs_meta if meta is not None]
        if types:
            yield types[0] + (f" and {len(types) - 1} more" if len(types) > 1 else "")
        if piece.views:
            yield f"+ {amount(len(piece.views), 'view')}"
        if node.site is not None:
            yield place(node.site, self._folder)
        if node.order is None:
            yield "did not run"

    def _rows(self, piece: Piece, node: Node) -> Iterator[Row]:
        """The rows that have a colour of their own."""
        details = self._details
        yield from details.findings(node)
        if node.levels and Show.LEVELS in self._show:
            yield Row(" ".join(map(str, node.levels)), Role.LEVEL)
        yield from details.gradient(node, piece.sums)
        kept = [tensor for tensor in node.saved if tensor.leaf is None]
        if kept and Show.SAVED not in self._show:
            yield Row(_kept_words(kept), Role.SAVED)
        yield from details.saved(node)
        if node.hooks and Show.HOOKS not in self._show:
            yield Row(amount(len(node.hooks), "hook"), Role.HOOKED)
        yield from details.hooks(node)
        yield from some([Row(_leaf_row(leaf, node), Role.ACCUMULATE) for leaf in piece.leaves], "parameter")
        yield from self._chips(piece)

    def _several(self, piece: Piece) -> tuple[str, tuple[str, ...], frozenset[Role]]:
        """Title, notes and roles of what is more than a node."""
        nodes = amount(_count(piece), "node")
        if piece.group is not None:
            group = piece.group
            named = [group.module_class] if group.module_class not in ("", group.name) else []
            return group.name, (" · ".join([*named, nodes]),), frozenset({Role.GROUP})
        if piece.repeat is not None:
            words = round_words(piece.repeat, self._folder)
            notes = (f"{words.span} · {nodes}", *([words.body] if words.body else []))
            return f"{MARK} {words.title}", notes, frozenset({Role.FOLDED})
        several = kinds(piece.nodes).split(" → ")
        if piece.kind in (PieceKind.ALIKE, PieceKind.CROWD) and len(several) == 1 and len(piece.nodes) == _count(piece):
            sites = {node.site for node in piece.nodes}
            lines = (place(site, self._folder) for site in sites if site is not None and len(sites) == 1)
            return f"{MARK} {len(piece.nodes):,}{TIMES} {short_name(piece.nodes[0])}", tuple(lines), _roles(piece)
        many = f"{nodes} in a row" if piece.kind is PieceKind.CHAIN else nodes
        shown = [*several[:3], f"and {len(several) - 3} more kinds"] if len(several) > 4 else several
        return f"{MARK} {many}", tuple(shown), frozenset({Role.FOLDED})

    def _totals(self, piece: Piece) -> Iterator[Row]:
        """What a box of several holds, with everything that is folded into it."""
        nodes = (*piece.nodes, *piece.views, *piece.leaves)
        kept = [tensor for node in nodes for tensor in node.saved if tensor.leaf is None]
        idle = sum(node.order is None for node in nodes)
        levels = dict.fromkeys(str(level) for node in nodes for level in node.levels)
        if levels and Show.LEVELS in self._show:
            yield Row(" ".join(levels), Role.LEVEL)
        if kept:
            yield Row(_kept_words(kept), Role.SAVED)
        yield from marks(nodes, self._shared, self._folder)
        yield from self._chips(piece)
        if idle:
            yield Row(f"{idle:,} did not run", Role.IDLE)

    def _chips(self, piece: Piece) -> Iterator[Row]:
        """`W shared by 100`, for parameters that no arrow leads to; of more than a few only how many they are."""
        for leaf in piece.chips if len(piece.chips) <= MOST_CHIPS else ():
            yield Row(f"{leaf_words(leaf.leaf or 'leaf')}  shared by {self._uses[leaf.id]}", Role.ACCUMULATE)
        if len(piece.chips) > MOST_CHIPS:
            uses = {self._uses[leaf.id] for leaf in piece.chips}
            yield Row(
                f"{len(piece.chips)} parameters shared by {uses.pop() if len(uses) == 1 else 'many'}", Role.ACCUMULATE
            )

    def _ordered(self, title: str, nodes: Iterable[Node]) -> str:
        """The title behind the place in backward order, when it is asked for."""
        if Show.ORDER not in self._show:
            return title
        orders = [node.order for node in nodes if node.order is not None]
        if not orders:
            return title
        first, last = min(orders), max(orders)
        return f"#{first}  {title}" if first == last else f"#{first}-{last}  {title}"


def _roles(piece: Piece) -> frozenset[Role]:
    """The roles of nodes of one kind: what marks each of them."""
    custom = all(node.function is not None for node in piece.nodes)
    parameters = all(node.accumulates for node in piece.nodes)
    marked = {Role.CUSTOM: custom, Role.ACCUMULATE: parameters}
    return frozenset({Role.FOLDED, *(role for role, holds in marked.items() if holds)})


def _count(piece: Piece) -> int:
    return len(piece.nodes) + len(piece.views) + len(piece.leaves)


def _call_words(calls: tuple[Group, ...]) -> str:
    name, last = ".".join(call.name for call in calls), calls[-1]
    return f"{name} · {last.module_class}" if last.module_class not in ("", last.name) else name


def _leaf_row(leaf: Node, user: Node) -> str:
    """`weight  float32[4, 3]`: without the module's path where it is the user's own module."""
    name = leaf_words(leaf.leaf or "leaf")
    if user.module is not None and user.module.path:
        name = name.rpartition(f"{user.module.path}.")[2]
    types = [str(meta) for meta in leaf.inputs_meta if meta is not None]
    return "  ".join([name, *types[:1], *(["did not run"] if leaf.order is None else [])])


def _kept_words(tensors: list[SavedTensor]) -> str:
    """`saves 96 B`, each storage once; where the bytes are unknown, the number of tensors."""
    total = sum({tensor.storage: tensor.bytes for tensor in tensors}.values())
    return f"saves {size(total) if total else amount(len(tensors), 'tensor')}"
