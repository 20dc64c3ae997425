"""What makes rounds the steps of a loop: gradients go from each to the next. Ten parallel branches do not fold so."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from operator import attrgetter, pos

from gradscope.graphs.walk import nodes_of
from gradscope.model.graph import Edge, Node
from gradscope.model.group import Group, Item, Repeat

FEWEST = 4  # rounds that are worth a fold: the first and the last show, and a box for one between is no fold
_TAIL, _HEAD = attrgetter("source"), attrgetter("target")
Round = tuple[Node | Group, ...]


@dataclass(frozen=True)
class Loops:
    """The edges of a graph, `find` for the node that stands for each, and the number of a step to open, from 1."""

    edges: Sequence[Edge] = ()
    find: Callable[[int], int] = field(default=pos)
    step: int | None = None

    def chained(self, one: Iterable[Item], two: Iterable[Item]) -> bool:
        """Whether gradients go from one round to the next."""
        target = {node.id for node in nodes_of(two)}
        return any(head in target for node in nodes_of(one) for head in self._heads.get(node.id, ()))

    def split(self, rounds: Sequence[Round]) -> list[Item]:
        """The rounds as one Repeat, or as two around the step that is to be open."""
        if self.step is None or not 1 < self.step < len(rounds):
            return [Repeat(tuple(rounds))]
        before, after = rounds[: self.step - 1], rounds[self.step :]
        return [*_repeat(before, 1), *rounds[self.step - 1], *_repeat(after, self.step + 1)]

    @cached_property
    def _heads(self) -> dict[int, list[int]]:
        found: dict[int, list[int]] = defaultdict(list)
        tails, heads = (map(self.find, map(end, self.edges)) for end in (_TAIL, _HEAD))
        for tail, head in zip(tails, heads, strict=True):
            if tail != head:
                found[tail].append(head)
        return dict(found)


NO_LOOPS = Loops()


def _repeat(rounds: Sequence[Round], first: int) -> list[Item]:
    if len(rounds) >= FEWEST:
        return [Repeat(tuple(rounds), first)]
    return [part for one in rounds for part in one]
