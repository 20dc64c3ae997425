"""A graph as an outline: the tree of module calls, a line for each thing, as much as fits on a page.

Lines carry their depth instead of their children, so an outline is as flat as the text that it becomes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby, islice

from gradscope.graphs.reduce import unabridged
from gradscope.graphs.walk import nodes_of
from gradscope.model.graph import Node
from gradscope.model.group import Group, Item, Repeat
from gradscope.view.line import Line, group_line, node_line, repeat_line, run_line
from gradscope.view.scene import Scene
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
    tree = unabridged(scene.graph, scene.rules)
    lines: list[Line] = []
    if not scene.rules.fold:
        return list(_lines(tree, Plan(scene.rules.depth or _depth(tree), ENDLESS), scene))
    for plan in _plans(scene.rules.depth, _depth(tree)):
        lines = list(islice(_lines(tree, plan, scene), PAGE + 1))
        if len(lines) <= PAGE:
            return lines
    return list(_lines(tree, plan, scene))


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
    level: list[Item] = [tree]
    while level:
        depth += 1
        level = [child for item in level for child in _inside(item)]
    return depth


def _inside(item: Item) -> tuple[Item, ...]:
    if isinstance(item, Node):
        return ()
    return item.children if isinstance(item, Group) else item.rounds[0]


def _lines(tree: Group, plan: Plan, scene: Scene) -> Iterator[Line]:
    """The lines from the top, opening groups as they come."""
    roots = frozenset(scene.graph.roots)
    apart = roots | scene.rules.must
    waiting = [_entries(tree.children, 1, plan, apart)]
    while waiting:
        entry = next(waiting[-1], None)
        if entry is None:
            waiting.pop()
            continue
        depth, items = entry
        head = items[0]
        if isinstance(head, Group):
            yield group_line(depth, head)
            if depth < plan.depth:
                waiting.append(_entries(head.children, depth + 1, plan, apart))
        elif isinstance(head, Repeat):
            yield repeat_line(depth, head)
        elif len(items) == 1:
            yield node_line(depth, head, head.id in roots, scene.run.cwd)
        else:
            yield run_line(depth, list(nodes_of(items)))


def _entries(
    items: tuple[Item, ...], depth: int, plan: Plan, apart: frozenset[int]
) -> Iterator[tuple[int, tuple[Item, ...]]]:
    """What gets a line each: single items, long runs of plain nodes, and for a repeat its first round and the rest.

    Nodes that stand `apart` are in no run.
    """
    for plain, run in groupby(
        items, key=lambda item: isinstance(item, Node) and is_plain(item) and item.id not in apart
    ):
        found = tuple(run)
        if plain and len(found) > plan.run:
            yield depth, found
            continue
        for item in found:
            if isinstance(item, Repeat):
                yield from ((depth, (part,)) for part in item.rounds[0])
            yield depth, (item,)
