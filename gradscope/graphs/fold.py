"""Folds siblings that are the same: 24 transformer blocks, or an addition and a block 24 times over.

Two items are the same when they have the same classes, operators, shapes, hooks and structure all the way down;
names and parameters may differ. Structures are numbered, so comparing two is comparing two integers.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace
from types import MappingProxyType

from gradscope.model.graph import Node
from gradscope.model.group import Group, Item, Repeat

FEWEST_ROUNDS = 3
LONGEST_ROUND = 4


def fold(root: Group, marks: Mapping[int, Hashable] = MappingProxyType({})) -> Group:
    """The same tree with runs of identical siblings as Repeats. Nodes whose `marks`, by id, differ are not the same."""
    numbers: dict[Hashable, int] = {}
    structure: dict[int, int] = {}
    folded: dict[int, Group] = {}
    for group in reversed(_groups(root)):
        members = [child for child in group.children if not isinstance(child, Repeat)]
        for child in members:
            if isinstance(child, Node):
                key = (node_structure(child), marks.get(child.id))
                structure[id(child)] = numbers.setdefault(key, len(numbers))
        keys = [structure[id(child)] for child in members]
        children = [folded.get(id(child), child) for child in members]
        folded[id(group)] = replace(group, children=_fold_siblings(children, keys))
        names = tuple(child.name if isinstance(child, Group) else "" for child in members)
        structure[id(group)] = numbers.setdefault((group.module_class, names, tuple(keys)), len(numbers))
    return folded[id(root)]


def _groups(root: Group) -> list[Group]:
    """Every group, those around before those inside."""
    found = [root]
    for group in found:  # grows while it is walked
        found.extend(child for child in group.children if isinstance(child, Group))
    return found


def node_structure(node: Node) -> Hashable:
    """What a node has in common with others of its kind."""
    saved = tuple((tensor.name, tensor.type) for tensor in node.saved)
    hooks = tuple((hook.kind, hook.name) for hook in node.hooks)
    function = node.function.name if node.function else None
    return node.name, node.op, node.inputs_meta, saved, hooks, function, node.levels, node.order is None


def _fold_siblings(children: list[Node | Group], keys: list[int]) -> tuple[Item, ...]:
    folded: list[Item] = []
    start = 0
    while start < len(children):
        length, rounds = _best_repeat(children, keys, start)
        stop = start + length * rounds
        if rounds == 1:
            folded.append(children[start])
        else:
            folded.append(Repeat(tuple(tuple(children[at : at + length]) for at in range(start, stop, length))))
        start = stop
    return tuple(folded)


def _best_repeat(children: list[Node | Group], keys: list[int], start: int) -> tuple[int, int]:
    """Length of the round and number of rounds of the shortest repeat with a group in it; (1, 1) when there is none."""
    for length in range(1, LONGEST_ROUND + 1):
        pattern = keys[start : start + length]
        if not any(isinstance(child, Group) for child in children[start : start + length]):
            continue
        rounds, stop = 1, start + length
        while keys[stop : stop + length] == pattern:
            rounds, stop = rounds + 1, stop + length
        if rounds >= FEWEST_ROUNDS:
            return length, rounds
    return 1, 1
