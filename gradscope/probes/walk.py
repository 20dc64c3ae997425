"""Walks the live graph of a backward call into flat rows, and interns them: a step that repeats is stored once.

Holds nodes and tensors only while it walks.
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterable, Sequence
from typing import Any

import torch

from gradscope.probes.functions import Functions
from gradscope.probes.modules import Call, Calls
from gradscope.probes.names import Names
from gradscope.probes.nodes import Nodes, Token, token_of
from gradscope.probes.sink import Sink
from gradscope.probes.tensors import TensorTypes, storage_of

UNNUMBERED = 2**64 - 1  # the sequence number of AccumulateGrad
_AFTER_ITS_OPERATOR = "torch::autograd::CopySlices"  # made after the in-place operator that it belongs to
_NODE_WIDTH = 12


class Walked:
    """What a walk found: ids of the interned graph and tensors, and the number of each node by its token's uid."""

    __slots__ = ("edges", "graph", "leaves", "numbers", "seq_base", "tensors")

    def __init__(
        self, graph: int, tensors: int, seq_base: int, numbers: dict[int, int], leaves: dict[int, int]
    ) -> None:
        self.graph = graph
        self.tensors = tensors
        self.seq_base = seq_base
        self.numbers = numbers
        self.leaves = leaves  # id() of a leaf tensor -> number of its AccumulateGrad


class Walker:
    """Walks graphs and keeps what can be reused from one walk to the next."""

    def __init__(self, sink: Sink, nodes: Nodes, names: Names) -> None:
        self._sink, self._nodes, self._names = sink, nodes, names
        self._types = TensorTypes(sink)
        self._functions = Functions(sink)
        self._calls = Calls(sink)
        self._raw_saved: dict[type, list[tuple[str, int]]] = {}
        self._raw_tensors = sink.string("saved_tensors")

    def walk(self, roots: Iterable[Any]) -> tuple[Walked, list[Any]]:
        """Walk from root nodes. Returns the result, and the live nodes by number: drop these soon."""
        live, edges = discover(roots)
        tokens = [token_of(node) or self._nodes.adopt(node) for node in live]
        numbers = {token.uid: number for number, token in enumerate(tokens)}
        leaves, storages = self._leaves(live)
        graph, seq_base = self._graph(live, tokens, numbers, leaves, edges)
        tensors = self._tensors(live, storages)
        variables = {id(variable): number for number, (variable, _) in leaves.items()}
        return Walked(graph, tensors, seq_base, numbers, variables), live

    def _leaves(self, live: list[Any]) -> tuple[dict[int, tuple[Any, int]], dict[int, int]]:
        """The variable and name of each AccumulateGrad by number, and the names by storage."""
        leaves: dict[int, tuple[Any, int]] = {}
        storages: dict[int, int] = {}
        for number, node in enumerate(live):
            variable = getattr(node, "variable", None) if node._sequence_nr() == UNNUMBERED else None
            if isinstance(variable, torch.Tensor):
                name = self._sink.string(self._names.leaf(variable))
                leaves[number] = (variable, name)
                storages[storage_of(variable)[0]] = name
        storages.pop(0, None)
        return leaves, storages

    def _graph(
        self, live: list[Any], tokens: list[Token], numbers: dict[int, int], leaves: dict[int, Any], edges: array[int]
    ) -> tuple[int, int]:
        sequence = [node._sequence_nr() for node in live]
        base = min((seq for seq in sequence if seq != UNNUMBERED), default=0)
        calls = _calls(tokens, leaves, edges)
        call_ids = self._calls.ids({call.serial: call for call in calls if call is not None})
        string, function_of = self._sink.string, self._functions.take
        rows = array("q")
        for number, (node, token, seq, call) in enumerate(zip(live, tokens, sequence, calls, strict=True)):
            name = node.name()
            function = function_of(node)
            operator = token.previous if name == _AFTER_ITS_OPERATOR else token.operator
            rows.extend((
                string(name),
                -1 if seq == UNNUMBERED else seq - base,
                token.stack,
                0 if call is None else call_ids[call.serial],
                0 if function else operator,
                token.levels,
                token.thread,
                numbers.get(token.parent, -1) if token.parent else -1,
                token.parent_name,
                token.parent_stack,
                leaves[number][1] if number in leaves else 0,
                function,
            ))  # fmt: skip
        graph, new = self._sink.template("graph", digest(rows, edges))
        if new:
            self._write_graph(graph, rows, edges)
        return graph, base

    def _write_graph(self, graph: int, rows: array[int], edges: array[int]) -> None:
        count = len(rows) // _NODE_WIDTH
        self._sink.add("graph", (graph, count, len(edges) // 4))
        for number in range(count):
            name, seq, stack, call, op, levels, thread, parent, *rest = rows[
                number * _NODE_WIDTH : (number + 1) * _NODE_WIDTH
            ]
            row = (graph, number, name, _none(seq), stack, call, op, levels, thread, _none(parent), *rest)
            self._sink.add("node", row)
        self._sink.add_all("edge", ((graph, *edges[at : at + 4]) for at in range(0, len(edges), 4)))

    def _tensors(self, live: list[Any], leaves: dict[int, int]) -> int:
        """Intern input metadata and saved tensors. Rows are counted: a node's metadata, then its saved tensors."""
        take = self._types.take
        metas, saved = array("q"), array("q")
        storages: dict[int, int] = {}
        for number, node in enumerate(live):
            for position, meta in enumerate(node._input_metadata):
                metas.extend((number, position, take(meta)))
            for position, (name, tensor) in enumerate(self._saved(node)):
                storage, size = storage_of(tensor)
                if not storage:
                    storage = -id(tensor)  # has no storage to share: a number of its own
                leaf = leaves.get(storage, 0)
                if not leaf and tensor.is_leaf and tensor.requires_grad:
                    leaf = self._sink.string(self._names.leaf(tensor))
                index = storages.setdefault(storage, len(storages))
                saved.extend((number, position, name, take(tensor), size, index, leaf))
        tensors, new = self._sink.template("tensors", digest(metas, saved))
        if new:
            self._write_tensors(tensors, metas, saved)
        return tensors

    def _write_tensors(self, tensors: int, metas: array[int], saved: array[int]) -> None:
        sizes = {saved[at + 5]: saved[at + 4] for at in range(0, len(saved), 7)}
        self._sink.add("tensors", (tensors, sum(sizes.values())))
        self._sink.add_all("input_meta", ((tensors, *metas[at : at + 3]) for at in range(0, len(metas), 3)))
        self._sink.add_all("saved", ((tensors, *saved[at : at + 7]) for at in range(0, len(saved), 7)))

    def _saved(self, node: Any) -> Sequence[tuple[int, torch.Tensor]]:
        """Name and tensor of what a node keeps, as stored: runs no unpack hook, checks no version, empty once freed.

        What a pack hook of the script has put in a tensor's place is no tensor, and is left out.
        """
        kind = type(node)
        attributes = self._raw_saved.get(kind)
        if attributes is None:
            names = [name for name in dir(kind) if name.startswith("_raw_saved_")]
            attributes = self._raw_saved[kind] = [
                (name, self._sink.string(name.removeprefix("_raw_saved_"))) for name in names
            ]
        found: list[tuple[int, torch.Tensor]] = []
        for attribute, name in attributes:
            try:
                value = getattr(node, attribute)
            except RuntimeError:  # freed by an earlier backward
                return ()
            if type(value) is tuple:
                for position, one in enumerate(value):
                    tensor = None if one is None else one.data
                    if isinstance(tensor, torch.Tensor):
                        found.append((self._sink.string(f"{attribute[11:]}[{position}]"), tensor))
            elif value is not None:
                tensor = value.data
                if isinstance(tensor, torch.Tensor):
                    found.append((name, tensor))
        return found


def discover(roots: Iterable[Any]) -> tuple[list[Any], array[int]]:
    """The nodes reachable from the roots, breadth first, and the edges as (source, output, target, input_nr)."""
    live: list[Any] = []
    index: dict[Any, int] = {}
    edges = array("q")
    for root in roots:
        if root not in index:
            index[root] = len(live)
            live.append(root)
    for number, node in enumerate(live):  # grows while it is walked
        for output, (target, input_nr) in enumerate(node.next_functions):
            if target is not None:
                reached = index.get(target)
                if reached is None:
                    reached = index[target] = len(live)
                    live.append(target)
                edges.extend((number, output, reached, input_nr))
    return live, edges


def _calls(tokens: list[Token], leaves: dict[int, Any], edges: array[int]) -> list[Call | None]:
    """The module call of each node. An AccumulateGrad may be older than its graph: it belongs where its leaf is used."""
    calls = [token.call for token in tokens]
    left = set(leaves)
    for at in range(0, len(edges), 4):
        target = edges[at + 2]
        if target in left:
            left.discard(target)
            calls[target] = calls[edges[at]]
    return calls


def digest(*arrays: array[int]) -> bytes:
    """What tells the content of flat rows from any other."""
    digest = hashlib.blake2b(digest_size=16)
    for one in arrays:
        digest.update(len(one).to_bytes(8, "little"))
        digest.update(one)
    return digest.digest()


def _none(number: int) -> int | None:
    return None if number < 0 else number
