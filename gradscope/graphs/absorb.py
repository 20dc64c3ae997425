"""What is part of a neighbour in a picture: parameters of the node that uses them, views of the node beside them.

Nothing with hooks, no custom Function, no output, no parameter with several users, and nothing that must show, is
folded away.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from gradscope.graphs.home import Home, call_key
from gradscope.graphs.rules import Rules
from gradscope.graphs.walk import backward_order
from gradscope.model.graph import Edge, Graph, Node

MOST_ARROWS = 3  # to a parameter, before each of its users says its name instead
VIEWS = frozenset(
    f"{name}Backward"
    for name in (
        *("Alias", "AsStrided", "Diagonal", "Expand", "Permute", "ReshapeAlias", "Select", "Slice", "Split", "Squeeze"),
        *("T", "Transpose", "Unbind", "Unfold", "UnsafeView", "Unsqueeze", "View", "SplitWithSizes", "Swapaxes"),
    )
)


@dataclass(slots=True)
class Absorbed:
    """Which node each folded node became part of, by id; `hidden` are parameters that were not wanted.

    `chips` are parameters that too many nodes use for arrows to be read: by user, in place of their arrows.
    """

    host: dict[int, int] = field(default_factory=dict)
    hidden: set[int] = field(default_factory=set)
    chips: dict[int, list[int]] = field(default_factory=dict)

    def find(self, node: int) -> int:
        """The node that stands for one; itself when it is not folded."""
        way = []
        while node in self.host:
            way.append(node)
            node = self.host[node]
        self.host.update(dict.fromkeys(way, node))  # the next walk is short
        return node


def only_views(node: Node) -> bool:
    """Whether the node only passes its gradient on in another shape."""
    return node.name.rpartition("::")[2].rstrip("0123456789") in VIEWS


def absorb(
    graph: Graph, inside: frozenset[int], where: Sequence[Home], rules: Rules, shared: frozenset[int] = frozenset()
) -> Absorbed:
    """Fold parameters and views, as far as the rules say. `inside` are the nodes that are shown at all, `shared`
    parameters with several users, also outside.
    """
    absorbed = Absorbed()
    before, after = _neighbours(graph.edges, inside)
    kept = rules.must | set(graph.roots)
    nodes = [node for node in backward_order(graph.nodes) if node.id in inside]
    if rules.params is None and rules.fold:
        _chip(nodes, before, kept, shared, absorbed)
    apart = kept | shared
    loose = {node.id for node in nodes if node.id not in apart and not node.hooks and node.function is None}
    if rules.params is False:
        _hide(nodes, before, kept, absorbed)
    elif rules.params is None and rules.fold:
        _fold_parameters(graph, [node for node in nodes if node.id in loose], before, after, loose, absorbed)
    if rules.fold:
        views = (node for node in nodes if node.id in loose and node.order is not None and only_views(node))
        for node in views:
            if _is_link(node.id, before, after):
                _fold_view(node.id, before[node.id][0], after[node.id][0], where, absorbed)
    return absorbed


def _neighbours(edges: Iterable[Edge], inside: frozenset[int]) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
    before: dict[int, list[int]] = {node: [] for node in inside}
    after: dict[int, list[int]] = {node: [] for node in inside}
    for edge in edges:
        if edge.source in inside and edge.target in inside:
            before[edge.target].append(edge.source)
            after[edge.source].append(edge.target)
    return before, after


def _is_link(node: int, before: dict[int, list[int]], after: dict[int, list[int]]) -> bool:
    return len(before[node]) == 1 and len(after[node]) == 1


def _hide(nodes: list[Node], before: dict[int, list[int]], kept: frozenset[int], absorbed: Absorbed) -> None:
    """Every parameter disappears into what uses it, without a word in the box."""
    for node in nodes:
        if node.accumulates and before[node.id] and node.id not in kept:
            absorbed.host[node.id] = before[node.id][0]
            absorbed.hidden.add(node.id)


def _chip(
    nodes: list[Node], before: dict[int, list[int]], kept: frozenset[int], shared: frozenset[int], absorbed: Absorbed
) -> None:
    """A parameter with many users becomes a word in each of them."""
    for node in nodes:
        users = list(dict.fromkeys(before[node.id]))
        if node.id in shared and node.id not in kept and len(users) > MOST_ARROWS and not node.hooks:
            absorbed.hidden.add(node.id)
            absorbed.host[node.id] = users[0]
            for user in users:
                absorbed.chips.setdefault(user, []).append(node.id)


def _fold_parameters(
    graph: Graph,
    nodes: list[Node],
    before: dict[int, list[int]],
    after: dict[int, list[int]],
    loose: set[int],
    absorbed: Absorbed,
) -> None:
    """A parameter that one node uses, and the views that lead only to it."""
    for node in nodes:
        if not node.accumulates or len(before[node.id]) != 1:
            continue
        above = before[node.id][0]
        absorbed.host[node.id] = above
        while above in loose and above not in absorbed.host and only_views(graph.nodes[above]):
            if not _is_link(above, before, after):
                break
            upper = before[above][0]
            absorbed.host[above] = upper
            above = upper


def _fold_view(node: int, source: int, target: int, where: Sequence[Home], absorbed: Absorbed) -> None:
    """Into the neighbour of the same module call: the one before, else the one behind."""
    if node in absorbed.host:
        return
    for neighbour in (source, target):
        if _same(where[node], where[neighbour]) and absorbed.find(neighbour) != node:
            absorbed.host[node] = neighbour
            return


def _same(one: Home, other: Home) -> bool:
    if one.in_backward != other.in_backward or one.call is other.call:
        return one.in_backward == other.in_backward
    if one.call is None or other.call is None:
        return False
    return [call_key(link) for link in one.call.chain] == [call_key(link) for link in other.call.chain]
