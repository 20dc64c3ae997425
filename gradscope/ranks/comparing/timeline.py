"""One run as two runs are compared: by backward call, what led to it, its graph, and what ran in it, as shared keys."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from operator import itemgetter

from gradscope.model.comparison import Side
from gradscope.model.graph import Backward
from gradscope.model.module import ModuleCall
from gradscope.model.site import Stack, user_site
from gradscope.model.tensor import TensorType
from gradscope.ranks.core.keys import KEPT, Keys, Operators, Types, joined
from gradscope.store import sequence_reader
from gradscope.store.file import damage_is_one_sentence
from gradscope.store.reader import Recording
from gradscope.store.rows import Packed, unpacked

Sequence = tuple[int, ...]
Typed = tuple[int, int, TensorType | None]  # a node, a place in what it receives (from 0) or saves (below 0), its type
Held = tuple[str, str, Types]  # the same of all nodes of a graph, nodes and places as packed
Made = tuple[int, str, Types]  # the first operator's place, the others' after it as packed, and what these made


@dataclass(frozen=True, slots=True)
class Stretch:
    """A stretch of operators: its number, its block, and the graph whose nodes they ran in."""

    number: int
    block: int
    graph: int | None


class Timeline:
    """The stretches of a run by backward call and thread. A thread counts by its place among those that ran any."""

    def __init__(self, recording: Recording, keys: Keys) -> None:
        self.recording, self._keys = recording, keys
        self._rows, self._interned = recording.tables.rows, recording.tables.interned
        self.backwards = {call.number: call for call in recording.backwards()}
        with damage_is_one_sentence(recording.path):
            known = {number: (graph, tensors) for number, graph, tensors in sequence_reader.read_graphs(self._rows)}
            self.graphs = {number: graph for number, (graph, _) in known.items()}
            self.tensors = {number: tensors for number, (_, tensors) in known.items()}
            self.before, self.inside = self._stretches()
            self._last_looked_at = sequence_reader.read_last_looked_at(self._rows)
        self.threads = 1 + max((thread for _, thread in (*self.before, *self.inside)), default=0)
        self._block, self.nodes_or_none = lru_cache(KEPT)(self._read_block), lru_cache(KEPT)(self._read_nodes)
        self.edges, self.types_of = lru_cache(KEPT)(self._read_edges), lru_cache(KEPT)(self._read_types)

    def _stretches(self) -> tuple[dict[tuple[int, int], list[Stretch]], dict[tuple[int, int], list[Stretch]]]:
        """By (backward, thread): what ran on the way to it, and in it."""
        starts = _starts(self.backwards.values())
        places: dict[int, int] = {}
        before: dict[tuple[int, int], list[Stretch]] = defaultdict(list)
        inside: dict[tuple[int, int], list[Stretch]] = defaultdict(list)
        for number, block, thread, backward, started in sequence_reader.read_stretches(self._rows):
            place = places.setdefault(thread, len(places))
            if backward is not None:
                inside[backward, place].append(Stretch(number, block, self.graphs.get(backward)))
                continue
            times, numbers = starts.get(thread, ([], []))
            at = bisect_right(times, started)
            after = numbers[at] if at < len(numbers) else len(self.backwards)
            before[after, place].append(Stretch(number, block, None))
        return before, inside

    def operators(self, stretches: list[Stretch]) -> Operators:
        """What makes the operators of stretches that follow each other the same."""
        blocks = [self._block(stretch.block, stretch.graph) for stretch in stretches]
        return blocks[0] if len(blocks) == 1 else joined(blocks)

    def keys(self, operators: Operators) -> Sequence:
        """The keys of operators."""
        return self._keys.keys(operators)

    def _read_block(self, block: int, graph: int | None) -> Operators:
        nodes = self.nodes_or_none(graph)
        with damage_is_one_sentence(self.recording.path):
            return self._keys.operators(sequence_reader.read_operators(self._rows, block), nodes)

    def _read_nodes(self, graph: int | None) -> tuple[int | None, ...]:
        """The keys of all nodes of a graph, None for those that are ignored."""
        if graph is None:
            return ()
        with damage_is_one_sentence(self.recording.path):
            return self._keys.nodes(sequence_reader.read_nodes(self._rows, graph))

    def _read_edges(self, graph: int | None) -> Packed:
        """Source, output, target and input of every edge of a graph."""
        if graph is None:
            return ("",) * 4
        with damage_is_one_sentence(self.recording.path):
            return sequence_reader.read_edges(self._rows, graph)

    def _read_types(self, tensors: int | None) -> tuple[Held, ...]:
        """What the nodes of a graph receive, and what they save."""
        if tensors is None:
            return ()
        with damage_is_one_sentence(self.recording.path):
            found = sequence_reader.read_received(self._rows, tensors), sequence_reader.read_saved(self._rows, tensors)
            return tuple((nodes, places, self._keys.types(kinds)) for nodes, places, kinds in found)

    def edge_rows(self, graph: int | None) -> list[tuple[int, ...]]:
        """The edges of a graph, one by one."""
        with damage_is_one_sentence(self.recording.path):
            return list(zip(*map(unpacked, self.edges(graph)), strict=True))

    def typed_rows(self, tensors: int | None) -> list[Typed]:
        """What the nodes of a graph receive and save, one by one."""
        with damage_is_one_sentence(self.recording.path):
            held = self.types_of(tensors)
            found = (zip(unpacked(nodes), unpacked(places), kinds, strict=True) for nodes, places, kinds in held)
            return sorted(chain.from_iterable(found), key=itemgetter(0, 1))

    def made(self, stretches: list[Stretch]) -> list[Made]:
        """The place and type of each tensor that operators of stretches made, where these were looked at."""
        found: list[Made] = []
        start = 0
        for stretch in stretches:
            found.append((start, *self._made(stretch.number)))
            start += len(self._block(stretch.block, stretch.graph).names)
        return found

    def _made(self, stretch: int) -> tuple[str, Types]:
        if stretch > self._last_looked_at:
            return "", ()
        with damage_is_one_sentence(self.recording.path):
            places, kinds = sequence_reader.read_made_types(self._rows, stretch)
            return places, self._keys.types(kinds)

    def places(self, made: list[Made]) -> set[int]:
        """The operators that made any of it."""
        with damage_is_one_sentence(self.recording.path):
            return {start + place for start, places, _ in made for place in unpacked(places)}

    def made_by_place(self, made: list[Made]) -> dict[int, Types]:
        """The types of all that each operator made."""
        found: dict[int, Types] = {}
        with damage_is_one_sentence(self.recording.path):
            for start, places, kinds in made:
                for place, kind in zip(unpacked(places), kinds, strict=True):
                    found[start + place] = (*found.get(start + place, ()), kind)
        return found

    def side(self, stretches: list[Stretch], position: int) -> Side:
        """The operator at a place among those of some stretches, in words."""
        for stretch in stretches:
            length = len(self._block(stretch.block, stretch.graph).names)
            if position < length:
                return self._side(stretch, position)
            position -= length
        return Side()

    def stack_in(self, stretches: list[Stretch], position: int) -> Stack:
        """The stack of the operator at a place among those of some stretches."""
        for stretch in stretches:
            length = len(self._block(stretch.block, stretch.graph).names)
            if position < length:
                return self._interned.stack(self._row(stretch, position)[1])
            position -= length
        return ()

    def node(self, graph: int | None, node: int) -> Side:
        """A node, in words."""
        row = self._node(graph, node)
        if row is None:
            return Side()
        name, stack, parent_stack, call, _, leaf, _ = row
        with damage_is_one_sentence(self.recording.path):
            site = user_site(self._interned.stack(stack)) or user_site(self._interned.stack(parent_stack))
            words = self._interned.string(name).rpartition("::")[2]
            held = f" of {self._interned.string(leaf)}" if leaf else ""
            return Side(words + held, site, _path(self._interned.call(call)))

    def edge(self, graph: int | None, row: tuple[int, ...] | None) -> Side:
        """An edge, in words."""
        if row is None:
            return Side()
        source, output, target, input_nr = row
        one, other = self.node(graph, source), self.node(graph, target)
        return Side(f"output {output} of {one.words} goes to input {input_nr} of {other.words}", one.site, one.module)

    def _node(self, graph: int | None, node: int) -> tuple[int, ...] | None:
        if graph is None:
            return None
        with damage_is_one_sentence(self.recording.path):
            columns = map(unpacked, sequence_reader.read_nodes(self._rows, graph))
            return next((row for at, row in enumerate(zip(*columns, strict=True)) if at == node), None)

    def _row(self, stretch: Stretch, position: int) -> tuple[int, int, int, int | None]:
        """An operator as it is stored; `position` counts those that are not ignored."""
        with damage_is_one_sentence(self.recording.path):
            rows = zip(*map(unpacked, sequence_reader.read_operators(self._rows, stretch.block)), strict=True)
            name, stack, call, node = [row for row in rows if not self._keys.skips(row[0])][position]
        return name, stack, call, node if node >= 0 else None

    def _side(self, stretch: Stretch, position: int) -> Side:
        name, stack, call, node = self._row(stretch, position)
        with damage_is_one_sentence(self.recording.path):
            words, site = self._interned.string(name), user_site(self._interned.stack(stack))
            module = _path(self._interned.call(call))
        if node is None:
            return Side(words, site, module)
        around = self.node(stretch.graph, node)
        return Side(f"{words} in {around.words}", around.site or site, around.module)


def _path(module: ModuleCall | None) -> str | None:
    return None if module is None else module.path or module.module_class


def _starts(backwards: Iterable[Backward]) -> dict[int, tuple[list[float], list[int]]]:
    """By thread: when its backward calls began, and their numbers."""
    found: dict[int, tuple[list[float], list[int]]] = defaultdict(lambda: ([], []))
    for call in sorted(backwards, key=lambda call: (call.started, call.number)):
        times, numbers = found[call.thread]
        times.append(call.started)
        numbers.append(call.number)
    return found
