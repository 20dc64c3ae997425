"""Folds siblings that are the same: 24 transformer blocks, or the steps of a loop through time.

Two items are the same when they have the same classes, operators, lines, shapes, hooks and structure all the way
down; names and parameters may differ. Structures are numbered, so comparing two is comparing two integers.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import is_
from types import MappingProxyType
from typing import cast

from gradscope.graphs.loops import FEWEST, NO_LOOPS, Loops
from gradscope.model.graph import Node
from gradscope.model.group import Group, Item

LONGEST_ROUND, LONGEST_OF_CALLS = 100, 4  # items of a round; of one that is folded without being a step of a loop
# Where the same may come often enough: keys as letters, because nothing looks faster than this. That some may share a
# letter only costs another look. Short rounds are looked for themselves, of longer ones what even the shortest repeat.
LETTERS, SHORT = sys.maxunicode + 1, 3
_SHORT_ROUNDS = re.compile(rf"(?=(.{{1,{SHORT}}}?)\1{{{FEWEST - 1}}})", re.DOTALL)
_REPEATED = (SHORT + 1) * (FEWEST - 1)


def fold(root: Group, marks: Mapping[int, Hashable] = MappingProxyType({}), loops: Loops = NO_LOOPS) -> Group:
    """The same tree, in which nothing is folded yet, with runs of identical siblings as Repeats.

    Nodes whose `marks`, by id, differ are not the same.
    """
    numbers: dict[Hashable, int] = {}
    groups, nodes = _groups(root)
    of_nodes = _of_nodes(nodes, marks, numbers)
    of_groups: dict[int, int] = {}  # by their identity
    folded: dict[int, Group] = {}
    stop = len(of_nodes)
    for group, inner in reversed(groups):
        children = cast("Sequence[Node | Group]", group.children)
        start = stop - len(children) + len(inner)
        keys, stop = of_nodes[start:stop], start
        if inner:
            own = iter(keys)
            keys = [of_groups[id(child)] if isinstance(child, Group) else next(own) for child in children]
            children = [folded.get(id(child), child) for child in children]
        siblings: Sequence[Item] = children
        if len(keys) - len(set(keys)) >= FEWEST - 1:  # what is folded is there as often
            siblings = _fold_siblings(children, keys, loops)
        if siblings is not group.children and not _same(siblings, group.children):
            folded[id(group)] = replace(group, children=tuple(siblings))
        names = tuple([child.name for child in inner]) if inner else ()
        of_groups[id(group)] = numbers.setdefault((group.module_class, names, tuple(keys)), len(numbers))
    return folded.get(id(root), root)


def _same(one: Sequence[Item], other: Sequence[Item]) -> bool:
    return len(one) == len(other) and all(map(is_, one, other))


def _of_nodes(nodes: list[Node], marks: Mapping[int, Hashable], numbers: dict[Hashable, int]) -> list[int]:
    """The number of each node's structure."""
    keys: Iterable[Hashable] = structures(nodes)
    if marks:
        keys = [(key, marks.get(node.id)) for node, key in zip(nodes, keys, strict=True)]
    return [numbers.setdefault(key, len(numbers)) for key in keys]


def _groups(root: Group) -> tuple[list[tuple[Group, list[Group]]], list[Node]]:
    """Every group with those right inside, the outer ones first; and the nodes, group after group."""
    found, nodes, waiting = list[tuple[Group, list[Group]]](), list[Node](), [root]
    for group in waiting:  # grows while it is walked
        inner = [child for child in group.children if isinstance(child, Group)]
        waiting += inner
        found.append((group, inner))
        nodes += [child for child in group.children if isinstance(child, Node)]
    return found, nodes


def structures(nodes: Sequence[Node]) -> Iterator[Hashable]:
    """What each of some nodes has in common with others among them of its kind."""
    inputs = _numbered({id(node.inputs_meta): node.inputs_meta for node in nodes})
    types = _numbered({id(tensor.type): tensor.type for node in nodes for tensor in node.saved})
    for node in nodes:
        saved: tuple[object, ...] = node.saved
        if saved:
            saved = tuple([(tensor.name, types[id(tensor.type)]) for tensor in node.saved])
        hooks = tuple((hook.kind, hook.name) for hook in node.hooks) if node.hooks else ()
        function = node.function.name if node.function else None
        met = inputs[id(node.inputs_meta)]
        yield node.name, node.op, met, saved, hooks, function, node.levels, node.order is None


def _numbered(values: Mapping[int, Hashable]) -> dict[int, int]:
    """Numbers, equal for equal values, by the values' identities: many nodes share what is slow to hash."""
    numbers: dict[Hashable, int] = {}
    return {identity: numbers.setdefault(value, len(numbers)) for identity, value in values.items()}


def _fold_siblings(children: Sequence[Node | Group], keys: list[int], loops: Loops) -> Sequence[Item]:
    row = _Row(children, keys, loops)
    folded: list[Item] = []
    start = 0
    for place in _candidates(keys):
        if place < start:
            continue
        folded += children[start:place]
        start = place
        length, rounds = row.best_repeat(start)
        stop = start + length * rounds
        if rounds == 1:
            folded.append(children[start])
        else:
            folded += loops.split([tuple(children[at : at + length]) for at in range(start, stop, length)])
        start = stop
    return [*folded, *children[start:]]


def _candidates(keys: list[int]) -> list[int]:
    """The places where a round may begin that comes often enough, and all where one does."""
    text = "".join([chr(key % LETTERS) for key in keys])
    found = {short.start() for short in _SHORT_ROUNDS.finditer(text)}
    begun = [text[place : place + _REPEATED] for place in range(len(text))]
    found.update([place for place, again in enumerate(_later(begun)) if 0 < again - place <= LONGEST_ROUND])
    return sorted(found)


def _later(keys: Sequence[Hashable]) -> list[int]:
    """For each place the next one with the same key; -1 behind the last."""
    found, seen = [-1] * len(keys), dict[Hashable, int]()
    for place in range(len(keys) - 1, -1, -1):
        found[place] = seen.get(keys[place], -1)
        seen[keys[place]] = place
    return found


@dataclass(frozen=True)
class _Row:
    """Siblings in their order, and the number of each one's structure."""

    children: Sequence[Node | Group]
    keys: list[int]
    loops: Loops

    @cached_property
    def later(self) -> list[int]:
        return _later(self.keys)

    @cached_property
    def lines(self) -> list[Hashable]:
        """Equal for what one line made, to which a loop comes back."""
        return list(_lines(self.children))

    def best_repeat(self, start: int) -> tuple[int, int]:
        """Length of the round and number of rounds of the shortest repeat; (1, 1) when there is none."""
        keys, later = self.keys, self.later
        again = later[start]
        while 0 <= again - start <= LONGEST_ROUND:
            length = again - start
            if keys[start:again] == keys[again : again + length]:
                rounds = self.rounds(start, length)
                if rounds > 1:
                    return length, rounds
            again = later[again]
        return 1, 1

    def rounds(self, start: int, length: int) -> int:
        """How many rounds are the same, 1 where a fold is not worth it: calls of modules are; nodes are in a loop.

        The first two tell whether it is one, so that no row of 100,000 nodes is walked from each of them; mostly
        already the lines of their first items.
        """
        children, keys, again = self.children, self.keys, start + length
        of_calls = length <= LONGEST_OF_CALLS and any(isinstance(child, Group) for child in children[start:again])
        lines = keys if of_calls else self.lines
        least = length * (FEWEST - 1)
        if lines[again] != lines[start] or keys[start : start + least] != keys[again : again + least]:
            return 1
        if not of_calls and not self.loops.chained(children[start:again], children[again : again + length]):
            return 1
        stop = again
        while stop < len(keys) and keys[stop] == keys[stop - length] and lines[stop] == lines[stop - length]:
            stop += 1
        rounds = (stop - start) // length
        return rounds if rounds >= FEWEST else 1


def _lines(children: Sequence[Node | Group]) -> Iterator[Hashable]:
    """A number for each node's line, and each group's class; nodes mostly share their stacks."""
    numbers: dict[Hashable, int] = {}
    by_stack: dict[tuple[int, int], int] = {}
    for child in children:
        if isinstance(child, Group):
            yield child.module_class
            continue
        made = id(child.stack), id(child.parent)
        if made not in by_stack:
            by_stack[made] = numbers.setdefault(child.site, len(numbers))
        yield by_stack[made]
