"""Writes recordings straight from the schema: the reading side is tested against the tables and nothing else."""

from __future__ import annotations

import json
import sqlite3
import struct
from collections.abc import Hashable, Sequence
from dataclasses import asdict
from pathlib import Path

from gradscope.model.graph import FunctionClass, Graph, Node, OrderSource, Root
from gradscope.model.hook import Hook
from gradscope.model.module import ModuleCall
from gradscope.model.operation import Block
from gradscope.model.run import Run
from gradscope.model.site import Site, Stack
from gradscope.model.tensor import TensorType
from gradscope.store.backward_reader import EFFECTS
from gradscope.store.interned import ORIGINS
from gradscope.store.schema import APPLICATION_ID, SCHEMA, TABLES
from tests.by_hand import RUN


class Writer:
    """Interns and inserts. Numbers start at 1, because 0 means none."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.connection = sqlite3.connect(path, isolation_level=None)
        self.connection.executescript(
            f"PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {SCHEMA}; {TABLES}"
        )
        self.connection.execute("BEGIN")
        self._known: dict[tuple[str, Hashable], int] = {}

    def insert(self, table: str, *values: object) -> None:
        marks = ", ".join("?" * len(values))
        self.connection.execute(f"INSERT OR REPLACE INTO {table} VALUES ({marks})", values)

    def close(self) -> Path:
        self.connection.execute("COMMIT")
        self.connection.close()
        return self.path

    def string(self, text: str | None) -> int:
        return self._intern("string", text) if text is not None else 0

    def frame(self, site: Site | None) -> int:
        if site is None:
            return 0
        values = (self.string(site.file), site.line, self.string(site.function), ORIGINS.index(site.origin))
        return self._intern("frame", *values)

    def stack(self, stack: Stack) -> int:
        number = 0
        for site in reversed(stack):
            number = self._intern("stack", number, self.frame(site))
        return number

    def call(self, call: ModuleCall | None) -> int:
        number = 0
        for link in call.chain if call else ():
            names = (self.string(link.path), self.string(link.module_class))
            number = self._intern("call", number, *names, link.position, link.ordinal, link.ordinals)
        return number

    def type(self, kind: TensorType | None) -> int:
        if kind is None:
            return 0
        shape = json.dumps(list(kind.shape))
        return self._intern("tensor_type", shape, self.string(kind.dtype), self.string(kind.device))

    def function(self, function: FunctionClass | None) -> int:
        if function is None:
            return 0
        frames = (self.frame(function.class_site), self.frame(function.backward_site))
        return self._intern("function", self.string(function.name), *frames)

    def hook(self, hook: Hook) -> int:
        self.insert(
            "hook", hook.number, hook.kind, self.string(hook.name), self.string(hook.on), self.stack(hook.stack)
        )
        return hook.number

    def _intern(self, table: str, *values: Hashable) -> int:
        key = (table, values)
        if key not in self._known:
            self._known[key] = len(self._known) + 1
            self.insert(table, self._known[key], *values)
        return self._known[key]


def write(
    path: Path, *graphs: Graph, run: Run = RUN, blocks: tuple[Block, ...] = (), sources: dict[str, str] | None = None
) -> Path:
    """A recording of these backward calls."""
    writer = Writer(path)
    for name, value in asdict(run).items():
        writer.insert("run", name, json.dumps(value))
    for file, text in (sources or {}).items():
        writer.insert("source", writer.string(file), text)
    for number, graph in enumerate(graphs, 1):
        write_graph(writer, number, graph)
        write_backward(writer, number, graph)
    for block in blocks:
        write_block(writer, block)
    return writer.close()


def write_graph(writer: Writer, number: int, graph: Graph) -> None:
    writer.insert("graph", number, len(graph.nodes), len(graph.edges))
    storages: dict[int, int] = {}
    for node in graph.nodes:
        write_node(writer, number, node)
        for position, meta in enumerate(node.inputs_meta):
            writer.insert("input_meta", number, node.id, position, writer.type(meta))
        for position, kept in enumerate(node.saved):
            storages.update({kept.storage: kept.bytes} if kept.leaf is None else {})
            names = (
                writer.string(kept.name),
                writer.type(kept.type),
                kept.bytes,
                kept.storage,
                writer.string(kept.leaf),
            )
            writer.insert("saved", number, node.id, position, *names)
            if kept.given:
                writer.insert("given", number, kept.storage)
    writer.insert("tensors", number, sum(storages.values()))
    for edge in graph.edges:
        writer.insert("edge", number, edge.source, edge.output, edge.target, edge.input_nr)


def write_node(writer: Writer, graph: int, node: Node) -> None:
    parent = node.parent
    writer.insert(
        "node",
        graph,
        node.id,
        writer.string(node.name),
        node.seq_nr,
        writer.stack(node.stack),
        writer.call(node.module),
        writer.string(node.op),
        writer.string(" ".join(map(str, node.levels))),
        node.thread,
        parent.node if parent else None,
        writer.string(parent.name) if parent else 0,
        writer.stack(parent.stack) if parent else 0,
        writer.string(node.leaf),
        writer.function(node.function),
    )


def write_backward(writer: Writer, graph_number: int | None, graph: Graph) -> None:
    call = graph.backward
    ran = sorted((node.order, node.id) for node in graph.nodes if node.order is not None)
    writer.insert(
        "backward",
        call.number,
        call.kind,
        graph_number,
        graph_number,
        0,
        _roots(call.roots),
        None if call.inputs is None else _roots(call.inputs),
        call.keep_graph,
        call.create_graph,
        call.nested_in,
        call.step,
        call.thread,
        writer.stack(call.stack),
        call.started,
        call.duration,
        writer.string(call.exception),
        call.stopped,
    )
    if call.order_source is OrderSource.MEASURED:
        write_measurement(writer, call.number, [node for _, node in ran])
    for node in graph.nodes:
        for hook in node.hooks:
            writer.insert("hook_on", call.number, writer.hook(hook), node.id)
    for position, firing in enumerate(graph.firings):
        measured = (firing.before, firing.after, firing.seconds)
        writer.insert(
            "firing",
            call.number,
            position,
            writer.hook(firing.hook),
            firing.node,
            EFFECTS.index(firing.effect),
            *measured,
        )


def write_measurement(
    writer: Writer,
    backward: int,
    entered: Sequence[int],
    ran: Sequence[tuple[int, int, float, float]] = (),
    gradients: Sequence[tuple[int, int, int, float, float, float, int, int]] = (),
) -> None:
    """What a backward measured: runs as (node, thread, started, duration), gradients as (node, side, position, ...)."""
    places = [number for row, one in enumerate(gradients) for number in (*one[:3], row)]
    layout = (entered, [number for one in ran for number in one[:2]], places)
    times, statistics = (
        [number for one in ran for number in one[2:]],
        [number for one in gradients for number in one[3:]],
    )
    writer.insert("layout", backward + 1, *(struct.pack(f"<{len(one)}i", *one) for one in layout))
    packed = (struct.pack(f"<{len(one)}d", *one) for one in (times, statistics))
    writer.insert("measurement", backward, backward + 1, *packed)


def write_block(writer: Writer, block: Block) -> None:
    writer.insert("block", block.number, len(block.operations), sum(len(each.writes) for each in block.operations))
    writer.insert("block_run", block.number, block.number, block.thread, block.backward, block.started, None, 1)
    for number, operation in enumerate(block.operations):
        place = (writer.string(operation.name), writer.stack(operation.stack), writer.call(operation.module))
        writer.insert("operation", block.number, number, *place, operation.node, int(operation.grad))
        for position, each in enumerate(operation.writes):
            names = (writer.string(each.argument), each.version, each.storage, writer.string(each.leaf))
            writer.insert("written", block.number, number, position, *names)


def _roots(roots: tuple[Root, ...]) -> str:
    return json.dumps([[root.node, root.input_nr] for root in roots])
