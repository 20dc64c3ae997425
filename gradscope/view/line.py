"""Lines of an outline: what is said of a node, of a run of nodes, of a module call, and of more of the same."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from gradscope.graphs.absorb import only_views
from gradscope.model.graph import Node
from gradscope.model.group import Group, Repeat, Totals
from gradscope.view.drawing import Row
from gradscope.view.role import Role
from gradscope.view.rounds import MARK, round_words
from gradscope.view.words import amount, kinds, leaf_words, place, short_name, size


@dataclass(frozen=True, slots=True)
class LinePart:
    """Some words and what they stand for."""

    text: str
    role: Role


@dataclass(frozen=True, slots=True)
class Line:
    """One line, `depth` levels in (1: the outermost)."""

    depth: int
    parts: tuple[LinePart, ...]


def node_line(depth: int, node: Node, is_root: bool, folder: str) -> Line:
    """A node: its place, name, type, what it keeps, its hooks, and the user's line."""
    parts = [LinePart(_place(node.order), Role.PLACE), LinePart(short_name(node), node_role(node, is_root))]
    if node.leaf is not None:
        parts.append(LinePart(leaf_words(node.leaf), Role.ACCUMULATE))
    types = [str(meta) for meta in node.inputs_meta if meta is not None]
    if types:
        parts.append(LinePart(types[0] + (f" and {len(types) - 1} more" if len(types) > 1 else ""), Role.TYPE))
    parts.extend(_keeps(sum({tensor.storage: tensor.bytes for tensor in node.saved if tensor.leaf is None}.values())))
    parts.extend(_hooks(len(node.hooks)))
    if node.function is not None and node.function.class_site is not None:
        parts.append(LinePart(f"class at {place(node.function.class_site, folder)}", Role.NOTE))
    if node.raised:
        parts.append(LinePart("raised here", Role.NOTE))
    if node.levels:
        parts.append(LinePart(" ".join(map(str, node.levels)), Role.NOTE))
    if node.site is not None:
        parts.append(LinePart(place(node.site, folder), Role.SITE))
    if node.library is not None:
        parts.append(LinePart(f"in {place(node.library, folder)}", Role.SITE))
    return Line(depth, tuple(parts))


def run_line(depth: int, nodes: list[Node]) -> Line:
    """Several plain nodes in a row."""
    keeps = {tensor.storage: tensor.bytes for node in nodes for tensor in node.saved if tensor.leaf is None}
    orders = [node.order for node in nodes if node.order is not None]
    where = _range(orders[0], orders[-1]) if orders else _range(None, None)
    head = (LinePart(where, Role.PLACE), LinePart(kinds(nodes), Role.PLAIN))
    return Line(depth, (*head, *_keeps(sum(keeps.values()))))


def group_line(depth: int, group: Group, totals: Totals, held: Iterable[Row] = ()) -> Line:
    """A module call and what it holds. `held` are what a closed one says of the special nodes in it."""
    parts = [LinePart(group.name, Role.MODULE)]
    if group.module_class and group.module_class != group.name:
        parts.append(LinePart(group.module_class, Role.CLASS))
    parts.append(LinePart(_range(totals.first, totals.last), Role.PLACE))
    parts.append(LinePart(amount(totals.nodes, "node"), Role.COUNT))
    if totals.parameters:
        parts.append(LinePart(amount(totals.parameters, "param"), Role.ACCUMULATE))
    custom = (LinePart(row.text, row.role) for row in held if row.role is Role.CUSTOM)
    return Line(depth, (*parts, *_keeps(totals.saved_bytes), *_hooks(totals.hooks), *custom))


def repeat_line(depth: int, repeat: Repeat, held: Iterable[Row] = (), folder: str = "") -> Line:
    """The rounds between the first and the last, which differ in names only, and the hooks and Functions in them."""
    marked = (LinePart(row.text, row.role) for row in held if row.role is not Role.ACCUMULATE)
    return Line(depth, (LinePart(f"{MARK} {round_words(repeat, folder).line}", Role.FOLDED), *marked))


def node_role(node: Node, is_root: bool) -> Role:
    """The one role that matters most to a reader."""
    if node.order is None:
        return Role.IDLE
    if node.function is not None:
        return Role.CUSTOM
    if is_root:
        return Role.ROOT
    if node.accumulates:
        return Role.ACCUMULATE
    if any(tensor.leaf is None for tensor in node.saved):
        return Role.SAVED
    return Role.VIEW if only_views(node) else Role.PLAIN


def _place(order: int | None) -> str:
    return "not run" if order is None else f"#{order}"


def _range(first: int | None, last: int | None) -> str:
    if first is None:
        return "not run"
    return f"#{first}" if first == last else f"#{first}-{last}"


def _keeps(count: int) -> tuple[LinePart, ...]:
    return (LinePart(f"saves {size(count)}", Role.SAVED),) if count else ()


def _hooks(count: int) -> tuple[LinePart, ...]:
    return (LinePart(amount(count, "hook"), Role.HOOKED),) if count else ()
