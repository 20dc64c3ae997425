"""One graph as columns, a value for each node, and the groups that its nodes stand in."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any

from gradscope.graphs.absorb import only_views
from gradscope.graphs.fold import fold
from gradscope.graphs.loops import Loops, Round
from gradscope.graphs.rules import MOST_CHILDREN
from gradscope.graphs.tree import IN_BACKWARD, build
from gradscope.model.graph import Graph, Level, Node
from gradscope.model.group import Group, Item, Repeat
from gradscope.view.page_tables import PageTables, steps
from gradscope.view.rounds import between, is_step, name_of, round_words
from gradscope.view.words import kinds, short_name

PART = 250  # children of a group that stands for some of too many
CROWD, LONG_RUN = 60, 5  # beside more children than that, so many nodes in a row share a group

MODULE, REPEAT, PARTS, AGAIN = range(4)  # kinds of groups; AGAIN holds what was made during a backward


def graph_columns(graph: Graph, tables: PageTables) -> dict[str, Any]:
    """Everything about a graph that does not change from one backward call to the next."""
    groups = _Groups(tables, len(graph.nodes), tables.folder)
    tree = build(graph, by_level=any(node.levels for node in graph.nodes))
    groups.place(fold(tree, loops=Loops(graph.edges)))
    storages = {tensor.storage: tensor for node in graph.nodes for tensor in node.saved}
    numbers = sorted(storages)
    place = {storage: position for position, storage in enumerate(numbers)}
    return {
        **{name: column(graph.nodes, tables) for name, column in COLUMNS.items()},
        "seq": steps([-1 if node.seq_nr is None else node.seq_nr for node in graph.nodes]),
        "stack": steps([tables.stack(node.stack) for node in graph.nodes]),
        "parents": [_parent(node, tables) for node in graph.nodes if node.parent is not None],
        "storages": steps([place[tensor.storage] for node in graph.nodes for tensor in node.saved]),
        "bytes": [storages[number].bytes for number in numbers],
        "given": [int(storages[number].given) for number in numbers],
        "owners": [tables.string(storages[number].leaf) for number in numbers],
        "group": steps(groups.of_node),
        "groups": groups.rows,
        **_edges(graph),
    }


Column = Callable[[Sequence[Node], PageTables], list[int]]


def _shared(name: str, number: Callable[[PageTables, Any], int]) -> Column:
    """A column of what many nodes have the same of: it is looked up once, and known by its identity from then on."""

    def column(nodes: Sequence[Node], tables: PageTables) -> list[int]:
        values = list(map(attrgetter(name), nodes))
        known = {id(value): value for value in values}
        numbers = {key: number(tables, value) for key, value in known.items()}
        return [numbers[id(value)] for value in values]

    return column


def _single(number: Callable[[PageTables, Node], int]) -> Column:
    """A column of what each node has of its own."""
    return lambda nodes, tables: [number(tables, node) for node in nodes]


def _names(tables: PageTables, levels: Sequence[Level]) -> int:
    return tables.string(" ".join(map(str, levels)))


def _saved(tables: PageTables, node: Node) -> int:
    return tables.list([part for one in node.saved for part in (tables.string(one.name), tables.type(one.type))])


COLUMNS: dict[str, Column] = {
    "name": _single(lambda tables, node: tables.string(short_name(node))),
    "op": _shared("op", PageTables.string),
    "call": _shared("module", PageTables.call),
    "levels": _shared("levels", _names),
    "thread": _single(lambda tables, node: node.thread),
    "device": _shared("device", lambda tables, device: tables.string(None if device == "cpu" else device)),
    "inputs": _shared("inputs_meta", lambda tables, metas: tables.list([tables.type(meta) for meta in metas])),
    "saved": _single(_saved),
    "leaf": _shared("leaf", PageTables.string),
    "function": _shared("function", PageTables.function),
    "view": _single(lambda tables, node: int(only_views(node))),
    "accumulates": _single(lambda tables, node: int(node.accumulates)),
}


def _parent(node: Node, tables: PageTables) -> list[int]:
    """The node that was evaluated while this one was made: its id, -1 when it is in another graph."""
    parent = node.parent
    if parent is None:
        return []
    return [
        node.id,
        -1 if parent.node is None else parent.node,
        tables.string(parent.name),
        tables.stack(parent.stack),
    ]


def _edges(graph: Graph) -> dict[str, list[int]]:
    """Edges by source; a target is written as how far it is from its source."""
    edges = sorted(graph.edges, key=lambda edge: (edge.source, edge.output))
    return {
        "source": steps([edge.source for edge in edges]),
        "target": [edge.target - edge.source for edge in edges],
        "output": [edge.output for edge in edges],
        "input": [edge.input_nr for edge in edges],
    }


class _Groups:
    """The groups, those around before those inside, and the group of each node; group 0 is the whole graph."""

    def __init__(self, tables: PageTables, nodes: int, folder: str) -> None:
        self._folder = folder
        self.rows: list[tuple[int, int, int, int]] = []
        self.of_node = [0] * nodes
        self._tables = tables

    def place(self, tree: Group) -> None:
        """Number the groups of a tree. A Repeat shows its first and last round; those between share a group."""
        waiting: list[tuple[tuple[Item, ...], int]] = [(tree.children, self._add("", "", 0, MODULE))]
        while waiting:
            children, group = waiting.pop()
            for item, inside in self._cut(_unrolled(children), group):
                if isinstance(item, Node):
                    self.of_node[item.id] = inside
                elif isinstance(item, Group):
                    number = self._add(item.name, item.module_class, inside, _kind(item))
                    waiting.append((item.children, number))
                else:
                    waiting += self._rounds(item, inside)

    def _rounds(self, repeat: Repeat, around: int) -> Iterator[tuple[tuple[Item, ...], int]]:
        """What stands in the box of the rounds between: the calls, or a box for each step of a loop."""
        words = round_words(repeat, self._folder)
        box = self._add(words.title, words.span, around, REPEAT)
        if not is_step(repeat) or len(repeat.rounds[0]) == 1:
            yield tuple(part for one in between(repeat) for part in one), box
            return
        numbered = list(enumerate(between(repeat), 1))
        for start in range(0, len(numbered), PART):
            part = numbered[start : start + PART]
            inside = box if len(numbered) <= MOST_CHILDREN else self._add(_span(repeat, part), "", box, PARTS)
            for place, one in part:
                yield one, self._add(name_of(repeat, place), "", inside, PARTS)

    def _add(self, name: str, module_class: str, around: int, kind: int) -> int:
        self.rows.append((self._tables.string(name), self._tables.string(module_class), around, kind))
        return len(self.rows) - 1

    def _cut(self, items: list[Item], group: int) -> list[tuple[Item, int]]:
        """Each item with the group it stands in: this one, or one of the parts that it is cut into when it is large."""
        if len(items) <= MOST_CHILDREN:
            crowded = len(items) > CROWD and any(not isinstance(item, Node) for item in items)
            return list(self._runs(items, group)) if crowded else [(item, group) for item in items]
        length = PART
        while len(items) / length > MOST_CHILDREN:
            length *= 2
        places: list[tuple[Item, int]] = []
        for start in range(0, len(items), length):
            stop = min(start + length, len(items))
            part = self._add(f"part {start // length + 1}: {start + 1:,} to {stop:,}", "", group, PARTS)
            places.extend((item, part) for item in items[start:stop])
        return places

    def _runs(self, items: list[Item], group: int) -> Iterator[tuple[Item, int]]:
        """Among many calls, what ran between them in a row: a group of its own for each run that is long."""
        for single, run in groupby(items, key=lambda item: isinstance(item, Node)):
            found = list(run)
            nodes = [item for item in found if isinstance(item, Node)]
            words = f"{len(nodes)} nodes: {kinds(nodes)}"
            inside = self._add(words, "", group, PARTS) if single and len(found) >= LONG_RUN else group
            yield from ((item, inside) for item in found)


def _span(repeat: Repeat, part: list[tuple[int, Round]]) -> str:
    return f"{name_of(repeat, part[0][0])} … {name_of(repeat, part[-1][0])}"


def _kind(group: Group) -> int:
    return AGAIN if not group.module_class and group.name == IN_BACKWARD else MODULE


def _unrolled(children: tuple[Item, ...]) -> list[Item]:
    """The children with the first and the last round of each Repeat beside what is left of it."""
    found: list[Item] = []
    for child in children:
        if isinstance(child, Repeat):
            found += [*child.rounds[0], child, *child.rounds[-1]]
        else:
            found.append(child)
    return found
