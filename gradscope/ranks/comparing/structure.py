"""Compares what two runs did: operators, the graphs that came of them, and what ran in their backward calls."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import partial

from gradscope.model.comparison import Side
from gradscope.model.site import Stack
from gradscope.model.tensor import TensorType
from gradscope.ranks.comparing.sequences import Stretch as Gap
from gradscope.ranks.comparing.sequences import stretches
from gradscope.ranks.comparing.timeline import Stretch, Timeline, Typed
from gradscope.ranks.comparing.together import Gathered, Pair, Rows, first_unequal
from gradscope.ranks.core.choice import Ignored
from gradscope.ranks.core.keys import Numbers

AROUND, SHOWN = 2, 6  # rows beside a difference, and of it

Sequence = tuple[int, ...]
Words = Callable[[int], Side]


class Structure:
    """Both timelines, and what is found."""

    def __init__(
        self, first: Timeline, second: Timeline, numbers: Numbers, gathered: Gathered, ignored: Ignored
    ) -> None:
        self._first, self._second, self._numbers = first, second, numbers
        self._gathered, self._ignored = gathered, ignored
        self._gaps: dict[tuple[Sequence, Sequence], list[Gap]] = {}
        self._plain: dict[int, int] = {}
        self._alike: dict[tuple[int | None, int | None], int | None] = {}

    def compare(self, pairs: list[Pair], ends: Pair | None) -> None:
        """Compare pair by pair; `ends`: what follows the last backward calls, where both runs have as many."""
        for one, other in pairs:
            self._operators("operator", one, self._first.before, self._second.before, other)
            self._graph(one, other)
            self._operators("backward operator", one, self._first.inside, self._second.inside, other)
        if ends is not None:
            self._operators("operator", ends[0], self._first.before, self._second.before, ends[1])

    def _operators(
        self,
        aspect: str,
        one: int,
        first: dict[tuple[int, int], list[Stretch]],
        second: dict[tuple[int, int], list[Stretch]],
        other: int,
    ) -> None:
        for thread in range(max(self._first.threads, self._second.threads)):
            these, those = first.get((one, thread), []), second.get((other, thread), [])
            if not these and not those:
                continue
            operators = self._first.operators(these), self._second.operators(those)
            self._gathered.count(aspect, len(operators[0].names), len(operators[1].names))
            gaps: list[Gap] = []
            if operators[0] != operators[1]:
                keys = self._first.keys(operators[0]), self._second.keys(operators[1])
                words = partial(self._first.side, these), partial(self._second.side, those)
                gaps = self._parted(aspect, one, keys, words, partial(self._stacks, these, those))
            if not self._ignored.dtype:
                self._types(one, these, those, gaps[0][0] if gaps else len(operators[0].names))

    def _parted(
        self,
        aspect: str,
        backward: int,
        sequences: tuple[Sequence, Sequence],
        words: tuple[Words, Words],
        stacks: Callable[[Gap], tuple[Stack, Stack]],
    ) -> list[Gap]:
        """Note where two sequences of keys part: as lines where nothing else differs."""
        if sequences[0] == sequences[1]:
            return []
        plain = tuple(tuple(map(self._without_line, sequence)) for sequence in sequences)
        only_lines = plain[0] == plain[1]
        gaps = self._gaps_of(*sequences)
        start, end, from_, to = gaps[0]
        sides = words[0](start) if end > start else Side(), words[1](from_) if to > from_ else Side()
        if only_lines:
            self._gathered.count("line", 0, 0)
        self._gathered.note(
            "line" if only_lines else aspect,
            backward,
            sides,
            position=start,
            rows=_rows(gaps, len(sequences[0]), words),
            stacks=stacks(gaps[0]),
            times=sum(max(b - a, d - c) for a, b, c, d in gaps),
        )
        return gaps

    def _gaps_of(self, one: Sequence, other: Sequence) -> list[Gap]:
        if (one, other) not in self._gaps:
            self._gaps[one, other] = stretches(one, other)
        return self._gaps[one, other]

    def _without_line(self, number: int) -> int:
        if number not in self._plain:
            self._plain[number] = self._numbers.without_line(number)
        return self._plain[number]

    def _stacks(self, these: list[Stretch], those: list[Stretch], gap: Gap) -> tuple[Stack, Stack]:
        start, end, from_, to = gap
        return (
            self._first.stack_in(these, start) if end > start else (),
            self._second.stack_in(those, from_) if to > from_ else (),
        )

    def _types(self, backward: int, these: list[Stretch], those: list[Stretch], common: int) -> None:
        """Compare dtypes and shapes of what operators made, as far as these are the same."""
        made = self._first.made(these), self._second.made(those)
        if made[0] == made[1]:
            alike = sum(position < common for position in self._first.places(made[0]))
            if alike:
                self._gathered.count("dtype", alike, alike)
            return
        first, second = self._first.made_by_place(made[0]), self._second.made_by_place(made[1])
        for position in sorted(first.keys() & second.keys()):
            if position >= common:
                break
            one, other = first[position], second[position]
            self._gathered.count("dtype", 1, 1)
            if one != other:
                sides = (
                    _typed(self._first.side(these, position), one),
                    _typed(self._second.side(those, position), other),
                )
                stacks = self._first.stack_in(these, position), self._second.stack_in(those, position)
                self._gathered.note("dtype", backward, sides, position=position, stacks=stacks)

    def _graph(self, one: int, other: int) -> None:
        graphs = self._first.graphs.get(one), self._second.graphs.get(other)
        tensors = self._first.tensors.get(one), self._second.tensors.get(other)
        nodes = self._first.nodes_or_none(graphs[0]), self._second.nodes_or_none(graphs[1])
        self._gathered.count("node", len(nodes[0]), len(nodes[1]))
        kept = tuple(key for key in nodes[0] if key is not None), tuple(key for key in nodes[1] if key is not None)
        words = (
            lambda at: self._first.node(graphs[0], _kept(nodes[0])[at]),
            lambda at: self._second.node(graphs[1], _kept(nodes[1])[at]),
        )
        gaps = self._parted("node", one, kept, words, lambda gap: self._node_stacks(words, gap))
        if gaps or None in nodes[0] or None in nodes[1]:
            return
        self._edges(one, graphs)
        self._tensors(one, graphs, tensors)

    def _node_stacks(self, words: tuple[Words, Words], gap: Gap) -> tuple[Stack, Stack]:
        first = words[0](gap[0]) if gap[1] > gap[0] else Side()
        second = words[1](gap[2]) if gap[3] > gap[2] else Side()
        return _lines(first), _lines(second)

    def _edges(self, one: int, graphs: tuple[int | None, int | None]) -> None:
        packed = self._first.edges(graphs[0]), self._second.edges(graphs[1])
        self._gathered.count("edge", *(_length(columns[0]) for columns in packed))
        if packed[0] == packed[1]:
            return
        rows = self._first.edge_rows(graphs[0]), self._second.edge_rows(graphs[1])
        at = first_unequal(*rows)
        if at is None:
            return
        sides = (
            self._first.edge(graphs[0], rows[0][at] if at < len(rows[0]) else None),
            self._second.edge(graphs[1], rows[1][at] if at < len(rows[1]) else None),
        )
        self._gathered.note("edge", one, sides, position=at)

    def _tensors(self, one: int, graphs: tuple[int | None, int | None], tensors: tuple[int | None, int | None]) -> None:
        held = self._first.types_of(tensors[0]), self._second.types_of(tensors[1])
        self._gathered.count("tensor", *(sum(len(kinds) for *_, kinds in one) for one in held))
        if held[0] == held[1]:
            return
        rows = self._first.typed_rows(tensors[0]), self._second.typed_rows(tensors[1])
        if tensors not in self._alike:
            said = [[(node, at, self._typed(kind)) for node, at, kind in found] for found in rows]
            self._alike[tensors] = first_unequal(*said)
        at = self._alike[tensors]
        if at is None:
            return
        first = _held(self._first, graphs[0], rows[0][at] if at < len(rows[0]) else None)
        second = _held(self._second, graphs[1], rows[1][at] if at < len(rows[1]) else None)
        node = rows[0][at][0] if at < len(rows[0]) else 0
        self._gathered.note("tensor", one, (first, second), position=node, stacks=(_lines(first), _lines(second)))

    def _typed(self, kind: TensorType | None) -> Hashable:
        if kind is None:
            return None
        return (kind.shape, kind.device) if self._ignored.dtype else kind


def _length(packed: str) -> int:
    return packed.count(",") + 1 if packed else 0


def _kept(nodes: tuple[int | None, ...]) -> list[int]:
    """The nodes that are not ignored."""
    return [at for at, key in enumerate(nodes) if key is not None]


def _held(timeline: Timeline, graph: int | None, row: Typed | None) -> Side:
    """What a node receives or saves, in words."""
    if row is None:
        return Side()
    node, place, kind = row
    side = timeline.node(graph, node)
    return Side(f"{side.words} {'saves' if place < 0 else 'receives'} {kind or 'nothing'}", side.site, side.module)


def _lines(side: Side) -> Stack:
    return () if side.site is None else (side.site,)


def _typed(side: Side, kinds: tuple[TensorType | None, ...]) -> Side:
    return Side(f"{side.words} gives {', '.join(map(str, kinds))}", side.site, side.module)


def _rows(gaps: list[Gap], length: int, words: tuple[Words, Words]) -> Rows:
    """The first difference with a little of what is around it."""
    start, end, from_, to = gaps[0]
    before = [(" ", words[0](at)) for at in range(max(0, start - AROUND), start)]
    gone = [("-", words[0](at)) for at in range(start, min(end, start + SHOWN))]
    new = [("+", words[1](at)) for at in range(from_, min(to, from_ + SHOWN))]
    limit = gaps[1][0] if len(gaps) > 1 else length
    after = [(" ", words[0](at)) for at in range(end, min(end + AROUND, limit))]
    cut = end - start > SHOWN or to - from_ > SHOWN
    return (*before, *gone, *new, *(() if cut else after))
