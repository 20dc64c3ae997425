"""Reads backward calls, and the graph that one of them reached."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, pairwise
from typing import Any, NamedTuple, TypeVar

from gradscope.model.graph import Backward, Edge, Graph, Node, OrderSource, Parent, Root
from gradscope.model.hook import Effect, Firing, Hook, HookPlace
from gradscope.model.tensor import Recomputed, SavedTensor, TensorType
from gradscope.store.interned import Interned, each
from gradscope.store.measurements import read_entered
from gradscope.store.rows import BYTES, INTEGER, MAYBE, REAL, TEXT, Rows, finite

BACKWARD = """SELECT number, kind, graph, tensors, seq_base, roots, inputs, keep_graph, create_graph, nested_in, step,
  thread, stack, started, duration, exception, stopped,
  number IN (SELECT nested_in FROM backward WHERE nested_in IS NOT NULL),
  (SELECT entered FROM measurement m JOIN layout l ON l.id = m.layout WHERE m.backward = number) FROM backward"""
BACKWARD_COLUMNS = (
    *(INTEGER, TEXT, INTEGER | MAYBE, INTEGER | MAYBE, INTEGER, TEXT, TEXT | MAYBE, INTEGER, INTEGER, INTEGER | MAYBE),
    *(INTEGER, INTEGER, INTEGER, REAL, REAL | MAYBE, INTEGER, INTEGER | MAYBE, INTEGER, BYTES | MAYBE),
)
Found = TypeVar("Found")

EFFECTS = tuple(Effect)  # by firing.changed
NODE = "SELECT number, name, seq, stack, call, op, leaf FROM node WHERE graph = ? ORDER BY number"
NODE_COLUMNS = (*(INTEGER, INTEGER, INTEGER | MAYBE), *(INTEGER,) * 4)
# what most graphs have none of
RARE = "SELECT levels, thread, parent, parent_name, parent_stack, function FROM node WHERE graph = ? ORDER BY number"
RARE_COLUMNS = (INTEGER, INTEGER, INTEGER | MAYBE, *(INTEGER,) * 3)
ANY_RARE = """SELECT EXISTS (SELECT 1 FROM node WHERE graph = ? AND NOT (levels IS 0 AND thread IS 0
  AND parent IS NULL AND parent_name IS 0 AND parent_stack IS 0 AND function IS 0))"""


@dataclass(frozen=True, slots=True)
class StoredCall:
    """A backward call as it is stored, with the rows that it points at."""

    backward: Backward
    graph: int | None
    tensors: int | None
    seq_base: int
    measured: tuple[int, ...] | None


class _Inputs(NamedTuple):
    """What comes in at a node, and the device of its ready queue."""

    types: tuple[TensorType | None, ...] = ()
    device: str = "cpu"


_NOTHING = _Inputs()


class BackwardReader:
    """Reads them over one connection."""

    def __init__(self, rows: Rows, interned: Interned) -> None:
        self._rows = rows
        self._interned = interned
        self._hooks: dict[int, Hook] = {}

    def calls(self, inside: int | None = None) -> Iterator[StoredCall]:
        """Every call, by number; or those that started inside one."""
        where, chosen = ("", ()) if inside is None else ("WHERE nested_in = ?", (inside,))
        columns = self._rows.columns(f"{BACKWARD} {where} ORDER BY number", BACKWARD_COLUMNS, *chosen)
        return self._calls(columns)

    def call(self, number: int) -> StoredCall:
        """One call."""
        row = self._rows.one(f"{BACKWARD} WHERE number = ?", BACKWARD_COLUMNS, number)
        return next(self._calls([[value] for value in row]))

    def graph(self, call: StoredCall) -> Graph:
        """The graph that a call reached: the stored shape, its tensors, its hooks and what it measured."""
        if call.graph is None:
            return Graph((), (), call.backward)
        nodes = self._nodes(call)
        _check_targets(call, nodes)
        sql = "SELECT source, target, output, input_nr FROM edge WHERE graph = ? ORDER BY source, output"
        columns = self._rows.columns(sql, (INTEGER,) * 4, call.graph)
        if any(ends and not 0 <= min(ends) <= max(ends) < len(nodes) for ends in columns[:2]):
            raise ValueError("an edge leads to a node that is not there")
        return Graph(nodes, tuple(map(Edge, *columns)), call.backward, self._firings(call.backward.number, len(nodes)))

    def hooks(self) -> Iterator[Hook]:
        """Every registration of the run, by number."""
        for (number,) in self._rows.select("SELECT number FROM hook ORDER BY number", (INTEGER,)):
            yield self._hook(number)

    def places(self) -> tuple[HookPlace, ...]:
        """Where hooks were attached: for each line that registers some, the first backward with one on a node."""
        sql = """SELECT o.backward, o.hook, o.node, h.stack FROM hook_on o JOIN hook h ON h.number = o.hook
          JOIN backward b ON b.number = o.backward ORDER BY 1, 2"""
        found: dict[tuple[int, int], HookPlace] = {}
        for backward, hook, node, stack in self._rows.select(sql, (INTEGER,) * 4):
            found.setdefault((stack, node), HookPlace(backward, self._hook(hook), node))
        return tuple(found.values())

    def edits(self) -> tuple[HookPlace, ...]:
        """Where hooks edited what they got in place: the first time for each line that registered one, and node."""
        sql = """SELECT f.backward, f.hook, f.node, h.stack FROM firing f JOIN hook h ON h.number = f.hook
          JOIN backward b ON b.number = f.backward
          WHERE f.changed = 2 AND f.node IS NOT NULL ORDER BY f.backward, f.position"""
        found: dict[tuple[int, int], HookPlace] = {}
        for backward, hook, node, stack in self._rows.select(sql, (INTEGER,) * 4):
            found.setdefault((stack, node), HookPlace(backward, self._hook(hook), node))
        return tuple(found.values())

    def never_fired(self) -> tuple[tuple[Hook, int], ...]:
        """The hooks that never fired, each with the first backward that began after its registration."""
        sql = """SELECT s.hook, s.backward FROM hook_since s JOIN backward b ON b.number = s.backward
          WHERE s.hook NOT IN (SELECT hook FROM firing) ORDER BY s.hook"""
        return tuple((self._hook(hook), backward) for hook, backward in self._rows.select(sql, (INTEGER,) * 2))

    def last_fired(self) -> tuple[tuple[HookPlace, int], ...]:
        """The hooks that fired in the last backward in which any did, each with the first one that it was there for."""
        sql = """SELECT f.backward, f.hook, f.node, s.backward FROM firing f JOIN hook_since s ON s.hook = f.hook
          JOIN backward b ON b.number = f.backward
          WHERE f.node IS NOT NULL AND f.backward = (SELECT max(backward) FROM firing) ORDER BY f.node, f.hook"""
        return tuple(
            (HookPlace(backward, self._hook(hook), node), since)
            for backward, hook, node, since in self._rows.select(sql, (INTEGER,) * 4)
        )

    def hooks_at(self, backward: int) -> Iterator[Hook]:
        """The hooks that were there when a backward began, on its nodes or elsewhere, by number."""
        sql = """SELECT hook FROM hook_since WHERE backward <= ?1 AND coalesce(until > ?1, 1)
          UNION SELECT hook FROM hook_on WHERE backward = ?1 ORDER BY 1"""
        for (number,) in self._rows.select(sql, (INTEGER,), backward):
            yield self._hook(number)

    def _hook(self, number: int) -> Hook:
        if number not in self._hooks:
            sql = "SELECT kind, name, target, stack FROM hook WHERE number = ?"
            kind, name, target, stack = self._rows.one(sql, (TEXT, INTEGER, INTEGER, INTEGER), number)
            known = self._interned
            self._hooks[number] = Hook(number, kind, known.string(name), known.string(target), known.stack(stack))
        return self._hooks[number]

    def _calls(self, columns: Sequence[list[Any]]) -> Iterator[StoredCall]:
        """The calls, a column at a time: a run has many thousands, and few stacks and roots are different."""
        numbers, kinds, graphs, tensors, seq_bases, roots, inputs, keep, create, nested_in, steps, *rest = columns
        threads, stacks, started, durations, exceptions, stopped, nest, measured = rest
        known = self._interned
        backwards = map(
            Backward,
            numbers,
            kinds,
            each(_roots, roots),
            each(_some_roots, inputs),
            map(bool, keep),
            map(bool, create),
            nested_in,
            threads,
            each(known.stack, stacks),
            map(finite, started),
            [None if duration is None else finite(duration) for duration in durations],
            each(known.name, exceptions),
            [OrderSource.PREDICTED if entered is None else OrderSource.MEASURED for entered in measured],
            steps,
            stopped,
            map(bool, nest),
        )
        entered = [None if packed is None else read_entered(packed) for packed in measured]
        return map(StoredCall, backwards, graphs, tensors, seq_bases, entered)

    def _nodes(self, call: StoredCall) -> tuple[Node, ...]:
        """The nodes of its graph, a column at a time: each number that is looked up is looked up once."""
        assert call.graph is not None
        numbers, names, seqs, stacks, calls, ops, leaves = self._rows.columns(NODE, NODE_COLUMNS, call.graph)
        (expected,) = self._rows.one("SELECT nodes FROM graph WHERE id = ?", (INTEGER,), call.graph)
        if len(numbers) != expected or numbers != list(range(len(numbers))):
            raise ValueError(f"a graph of {expected} nodes holds {len(numbers)}, or others than it says")
        levels, threads, parents, functions = self._rare(call.graph, len(numbers))
        known, beside = self._interned, self._inputs(call.tensors)
        inputs = [beside.get(node, _NOTHING) for node in numbers]
        order = {node: position for position, node in enumerate(call.measured or ())}
        columns = (
            numbers,
            known.strings(names),
            [None if seq is None else seq + call.seq_base for seq in seqs],
            each(known.stack, stacks),
            known.names(ops),
            known.calls(calls),
            levels,
            threads,
            parents,
            [one.device for one in inputs],
            [one.types for one in inputs],
            _held(self._saved(call.tensors), numbers),
            _held(self._again(call.tensors), numbers),
            _held(self._hooks_on(call.backward.number), numbers),
            known.names(leaves),
            functions,
            map(order.get, numbers),
        )
        return tuple(map(Node, *columns))

    def _rare(self, graph: int, nodes: int) -> tuple[list[Any], ...]:
        """Levels, threads, parents and functions of the nodes."""
        if self._rows.one(ANY_RARE, (INTEGER,), graph) == (0,):
            return [()] * nodes, [0] * nodes, [None] * nodes, [None] * nodes
        levels, threads, *parents, functions = self._rows.columns(RARE, RARE_COLUMNS, graph)
        known = self._interned
        return each(known.levels, levels), threads, self._parents(*parents), each(known.function, functions)

    def _parents(
        self, parents: Sequence[int | None], names: Sequence[int], stacks: Sequence[int]
    ) -> list[Parent | None]:
        string, stack_of = self._interned.string, self._interned.stack
        return [
            Parent(string(name), stack_of(stack), parent) if name else None
            for parent, name, stack in zip(parents, names, stacks, strict=True)
        ]

    def _inputs(self, tensors: int | None) -> dict[int, _Inputs]:
        """What comes in at each node; nodes that get the same share it, which makes them quick to compare."""
        sql = "SELECT node, type FROM input_meta WHERE tensors = ? ORDER BY node, position"
        nodes, kinds = self._rows.columns(sql, (INTEGER, INTEGER), _some(tensors))
        found = dict(zip(nodes, each(lambda kind: self._met((kind,)), kinds), strict=True))
        if len(found) < len(nodes):  # some get several, as few do
            grouped = {node: met for node, met in _runs(nodes, tuple(kinds)).items() if len(met) > 1}
            found.update(zip(grouped, each(self._met, list(grouped.values())), strict=True))
        return found

    def _met(self, kinds: tuple[int, ...]) -> _Inputs:
        """What comes in with these types, 0 for what is undefined."""
        types = tuple(self._interned.type(kind) if kind else None for kind in kinds)
        return _Inputs(types, _queue_device(types))

    def _saved(self, tensors: int | None) -> dict[int, tuple[SavedTensor, ...]]:
        sql = "SELECT node, name, type, bytes, storage, leaf FROM saved WHERE tensors = ? ORDER BY node, position"
        nodes, names, types, sizes, storages, leaves = self._rows.columns(sql, (INTEGER,) * 6, _some(tensors))
        sql = "SELECT storage FROM given WHERE tensors = ?"
        given = {one for (one,) in self._rows.select(sql, (INTEGER,), _some(tensors))}
        known = self._interned
        columns = (
            known.strings(names),
            each(known.type, types),
            sizes,
            storages,
            known.names(leaves),
            [storage in given for storage in storages],
        )
        return _runs(nodes, tuple(map(SavedTensor, *columns)))

    def _again(self, tensors: int | None) -> dict[int, list[Recomputed]]:
        found: dict[int, list[Recomputed]] = defaultdict(list)
        sql = "SELECT node, checkpoint, bytes FROM again WHERE tensors = ? ORDER BY node, checkpoint"
        for node, *place in self._rows.select(sql, (INTEGER,) * 3, _some(tensors)):
            found[node].append(Recomputed(*place))
        return found

    def _hooks_on(self, backward: int) -> dict[int, list[Hook]]:
        sql = "SELECT node, hook FROM hook_on WHERE backward = ? ORDER BY node, hook"
        found: dict[int, list[Hook]] = defaultdict(list)
        for node, hook in self._rows.select(sql, (INTEGER, INTEGER), backward):
            found[node].append(self._hook(hook))
        return found

    def _firings(self, backward: int, nodes: int) -> tuple[Firing, ...]:
        sql = """SELECT hook, node, changed, norm_before, norm_after, duration FROM firing
          WHERE backward = ? ORDER BY position"""
        fired = list(self._rows.select(sql, (INTEGER, INTEGER | MAYBE, INTEGER, *(REAL | MAYBE,) * 3), backward))
        if any(node is not None and not 0 <= node < nodes for _, node, *_ in fired):
            raise ValueError("a hook fired on a node that is not there")
        return tuple(
            Firing(self._hook(hook), node, _effect(changed), before, after, seconds)
            for hook, node, changed, before, after, seconds in fired
        )


def _some(tensors: int | None) -> int:
    """The number of a row of `tensors`; that of none where a call has none."""
    return -1 if tensors is None else tensors


def _runs(nodes: Sequence[int], values: tuple[Found, ...]) -> dict[int, tuple[Found, ...]]:
    """The values of each node, which stand in order."""
    starts = [
        place for place, (node, before) in enumerate(zip(nodes, chain((None,), nodes), strict=False)) if node != before
    ]
    return {nodes[start]: values[start:stop] for start, stop in pairwise((*starts, len(nodes)))}


def _held(found: Mapping[int, Sequence[Found]], nodes: Sequence[int]) -> list[tuple[Found, ...]]:
    """What each node has of something that most have none of."""
    return [tuple(found[node]) if node in found else () for node in nodes] if found else [()] * len(nodes)


def _effect(changed: int) -> Effect:
    if not 0 <= changed < len(EFFECTS):
        raise ValueError("a hook did what none can do")
    return EFFECTS[changed]


def _queue_device(metas: tuple[TensorType | None, ...]) -> str:
    """Node::device() of torch 2.13: the first device of the metadata that is not the CPU."""
    return next((meta.device for meta in metas if meta is not None and meta.device != "cpu"), "cpu")


@lru_cache(maxsize=1024)
def _roots(text: str) -> tuple[Root, ...]:
    """Read off the file's text, which is the same in thousands of calls."""
    pairs = json.loads(text)
    for node, input_nr in pairs:
        if type(input_nr) is not int or not (node is None or type(node) is int):
            raise ValueError("a root is not a node and an input's number")
    return tuple(Root(node, input_nr) for node, input_nr in pairs)


def _some_roots(text: str | None) -> tuple[Root, ...] | None:
    return None if text is None else _roots(text)


def _check_targets(call: StoredCall, nodes: tuple[Node, ...]) -> None:
    """Everything a call says about nodes must be about nodes of its graph."""
    roots = (root.node for root in (*call.backward.roots, *(call.backward.inputs or ())))
    parents = (node.parent.node for node in nodes if node.parent is not None)
    named = (*roots, *parents, call.backward.stopped, *(call.measured or ()))
    if any(node is not None and not 0 <= node < len(nodes) for node in named):
        raise ValueError("a backward call names a node that is not there")
