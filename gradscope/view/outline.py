"""A graph as an outline: the tree of module calls, a line for each thing, as much as fits on a page.

Lines carry their depth instead of their children, so an outline is as flat as the text that it becomes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby, islice

from gradscope.graphs.around import groups_around
from gradscope.graphs.reduce import unabridged
from gradscope.graphs.special import shared_parameters
from gradscope.graphs.sums import sums
from gradscope.graphs.totals import Holdings
from gradscope.graphs.walk import nodes_of
from gradscope.model.graph import Node
from gradscope.model.group import Group, Item, Repeat
from gradscope.view.details import Details
from gradscope.view.drawing import Row
from gradscope.view.line import Line, LinePart, group_line, node_line, repeat_line, run_line
from gradscope.view.marks import marks
from gradscope.view.rounds import between
from gradscope.view.scene import Scene, Show
from gradscope.view.words import is_plain

PAGE = 80
LONG_RUN = 8  # more plain nodes in a row than this share one line when the page is full
ENDLESS = 1 << 60


@dataclass(frozen=True, slots=True)
class Plan:
    """How much to show: groups down to `depth` are opened, and runs longer than `run` share a line."""

    depth: int
    run: int


def outline(scene: Scene) -> list[Line]:
    """The lines of the most detailed outline that fits on a page; of all where nothing is to be folded."""
    writer = OutlineWriter(scene)
    lines: list[Line] = []
    deepest = _depth(writer.tree)
    if not scene.rules.fold:
        return list(writer.lines(Plan(scene.rules.depth or deepest, ENDLESS)))
    for plan in _plans(scene.rules.depth, deepest):
        lines = list(islice(writer.lines(plan), PAGE + 1))
        if len(lines) <= PAGE:
            return lines
    return list(writer.lines(plan))


def _plans(asked: int | None, deepest: int) -> Iterator[Plan]:
    """From the most detailed to the least; a depth that was asked for is kept."""
    depth = deepest if asked is None else asked
    yield Plan(depth, ENDLESS)
    yield Plan(depth, LONG_RUN)
    if asked is None:
        for less in range(min(depth, PAGE) - 1, 0, -1):
            yield Plan(less, LONG_RUN)


def _depth(tree: Group) -> int:
    """How deep groups nest."""
    depth = 0
    level: list[Group | Repeat] = [tree]
    while level:
        depth += 1
        level = [child for item in level for child in _inside(item) if not isinstance(child, Node)]
    return depth


def _inside(item: Group | Repeat) -> tuple[Item, ...]:
    return item.children if isinstance(item, Group) else item.rounds[0]


class OutlineWriter:
    """Writes a scene's lines by one plan or another."""

    def __init__(self, scene: Scene) -> None:
        rules = scene.reduction
        self.tree = unabridged(scene.graph, rules)
        self._roots = frozenset(scene.graph.roots)
        self._apart = self._roots | rules.must
        self._open, _ = groups_around(self.tree, self._apart)
        self._details = Details(scene)
        self._sums = sums(scene.graph) if Show.GRADS in scene.show else {}
        self._shared = shared_parameters(scene.graph)
        self._folder = scene.run.cwd
        self._special = any(node.hooks or node.function is not None for node in scene.graph.nodes)
        self._holdings = Holdings(self.tree)
        self._told: dict[tuple[int, int], Line] = {}

    def lines(self, plan: Plan) -> Iterator[Line]:
        """The lines from the top, opening groups as they come."""
        waiting = [_entries(self.tree.children, 1, plan, self._apart)]
        while waiting:
            entry = next(waiting[-1], None)
            if entry is None:
                waiting.pop()
                continue
            depth, items, closed = entry
            head = items[0]
            if isinstance(head, Group):
                is_open = not closed and (depth < plan.depth or id(head) in self._open)
                yield group_line(depth, head, self._holdings.totals(head)) if is_open else self._closed(depth, head)
                if is_open:
                    waiting.append(_entries(head.children, depth + 1, plan, self._apart))
            elif isinstance(head, Repeat):
                yield self._closed(depth, head)
            elif len(items) == 1:
                yield from self._node(depth, head)
            else:
                yield run_line(depth, list(nodes_of(items)))

    def _closed(self, depth: int, item: Group | Repeat) -> Line:
        """The line of a closed group, or of the rounds between of a repeat: told once, though many plans ask for it."""
        if (id(item), depth) not in self._told:
            if isinstance(item, Group):
                totals = self._holdings.totals(item)
                self._told[id(item), depth] = group_line(depth, item, totals, self._marks((item,)))
            else:
                held = self._marks(part for one in between(item) for part in one)
                self._told[id(item), depth] = repeat_line(depth, item, held, self._folder)
        return self._told[id(item), depth]

    def _marks(self, items: Iterable[Item]) -> Iterable[Row]:
        """What a closed line says of the nodes behind it; of parameters it counts, most graphs have nothing else."""
        return marks(list(nodes_of(items)), self._shared, self._folder) if self._special else ()

    def _node(self, depth: int, node: Node) -> Iterator[Line]:
        """A node, and below it what was asked for."""
        yield node_line(depth, node, node.id in self._roots, self._folder)
        for row in self._details.rows(node, self._sums.get(node.id, 1)):
            yield Line(depth + 1, (LinePart(row.text, row.role),))


def _entries(
    items: tuple[Item, ...], depth: int, plan: Plan, apart: frozenset[int], closed: bool = False
) -> Iterator[tuple[int, tuple[Item, ...], bool]]:
    """What gets a line each, and whether it stays closed: single items, long runs of plain nodes, parts of repeats.

    Of a repeat the first round is open, those between share a line, and the last is closed. Nodes that stand `apart`
    are in no run.
    """
    for plain, run in groupby(
        items, key=lambda item: isinstance(item, Node) and is_plain(item) and item.id not in apart
    ):
        found = tuple(run)
        if plain and len(found) > plan.run:
            yield depth, found, closed
            continue
        for item in found:
            if isinstance(item, Repeat):
                yield from _entries(item.rounds[0], depth, plan, apart)
                yield depth, (item,), closed
                yield from _entries(item.rounds[-1], depth, plan, apart, closed=True)
            else:
                yield depth, (item,), closed
