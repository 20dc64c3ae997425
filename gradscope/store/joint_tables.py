"""The joint graphs of a recording, written and read."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING

from gradscope.model.joint import Fact, Half, JointNode, Partition, PartitionStep, Region
from gradscope.model.site import Stack
from gradscope.store.interned import Interned
from gradscope.store.rows import INTEGER, MAYBE, TEXT, Rows, integers

if TYPE_CHECKING:  # who reads does not need it
    from gradscope.store.writer import Writer

PHASES = (Half.FORWARD, Half.BACKWARD)


def write_joint(writer: Writer, found: Region | Fact) -> None:
    """Add a region, or a graph break."""
    if isinstance(found, Region):
        write_region(writer, found)
    else:
        write_fact(writer, found)


def write_region(writer: Writer, region: Region) -> None:
    """Add a region."""
    names = (writer.string(region.name), writer.string(region.compile_id))
    writer.add("joint_region", (region.number, *names, stack_number(writer, region.stack)))
    writer.add_all("joint_node", (_node_row(writer, region.number, node) for node in region.nodes))
    for place, cut in enumerate(region.partitions):
        row = (region.number, place, writer.string(cut.name), json.dumps(cut.saved), int(cut.used))
        writer.add("joint_partition", row)
        for half, steps in enumerate((cut.forward, cut.backward)):
            for position, step in enumerate(steps):
                writer.add("joint_step", (region.number, place, half, position, step.node, json.dumps(step.inputs)))
    for fact in region.facts:
        write_fact(writer, fact, region.number)


def write_fact(writer: Writer, fact: Fact, region: int | None = None) -> None:
    """Add a fact of a region, or a graph break."""
    row = (region, writer.string(fact.kind), writer.string(fact.text), stack_number(writer, fact.stack))
    writer.add("joint_fact", row)


def stack_number(writer: Writer, stack: Stack) -> int:
    """A stack as the recording has it, 0 for an empty one."""
    number = 0
    for site in reversed(stack):
        number = writer.stack(number, writer.frame(site.file, site.line, site.function))
    return number


def _node_row(writer: Writer, region: int, node: JointNode) -> tuple[object, ...]:
    kind = node.type
    return (
        region,
        node.id,
        writer.string(node.name),
        writer.string(node.op),
        PHASES.index(node.phase),
        0 if kind is None else writer.tensor_type(kind.shape, kind.dtype, kind.device),
        node.bytes,
        node.storage,
        stack_number(writer, node.stack),
        node.seq_nr,
        json.dumps(node.inputs),
        writer.string(node.module) if node.module else 0,
        writer.string(node.label) if node.label else 0,
        node.addition_of,
        json.dumps(node.uses),
    )


def read_regions(rows: Rows, interned: Interned) -> tuple[Region, ...]:
    """Every region, in order."""
    sql = "SELECT number, name, compile_id, stack FROM joint_region ORDER BY number"
    found = list(rows.select(sql, (INTEGER,) * 4))
    return tuple(
        Region(
            number,
            interned.string(name),
            interned.string(compile_id),
            interned.stack(stack),
            nodes := tuple(_nodes(rows, interned, number)),
            tuple(_partitions(rows, interned, number, len(nodes))),
            tuple(_facts(rows, interned, number)),
        )
        for number, name, compile_id, stack in found
    )


def read_breaks(rows: Rows, interned: Interned) -> tuple[Fact, ...]:
    """The graph breaks, in order."""
    sql = "SELECT kind, text, stack FROM joint_fact WHERE region IS NULL ORDER BY rowid"
    return tuple(_fact(interned, row) for row in rows.select(sql, (INTEGER,) * 3))


def _facts(rows: Rows, interned: Interned, region: int) -> Iterable[Fact]:
    sql = "SELECT kind, text, stack FROM joint_fact WHERE region = ? ORDER BY rowid"
    return (_fact(interned, row) for row in rows.select(sql, (INTEGER,) * 3, region))


def _fact(interned: Interned, row: tuple[int, ...]) -> Fact:
    kind, text, stack = row
    return Fact(interned.string(kind), interned.string(text), interned.stack(stack))


def _nodes(rows: Rows, interned: Interned, region: int) -> Iterable[JointNode]:
    sql = """SELECT number, name, op, phase, type, bytes, storage, stack, seq, inputs, module, label, addition_of, uses
      FROM joint_node WHERE region = ? ORDER BY number"""
    columns = (*(INTEGER,) * 8, INTEGER | MAYBE, TEXT, INTEGER, INTEGER, INTEGER | MAYBE, TEXT)
    found = list(rows.select(sql, columns, region))
    for place, row in enumerate(found):
        number, name, op, phase, kind, size, storage, stack, seq, inputs, module, label, of, uses = row
        if number != place or phase not in (0, 1):
            raise ValueError("the nodes of a joint graph are not numbered in order")
        others = (*integers(inputs), *integers(uses), *([] if of is None else [of]))
        _check(others, len(found))
        yield JointNode(
            number,
            interned.string(name),
            interned.string(op),
            PHASES[phase],
            interned.type(kind) if kind else None,
            size,
            storage,
            interned.stack(stack),
            seq,
            integers(inputs),
            interned.name(module) or "",
            interned.name(label) or "",
            of,
            integers(uses),
        )


def _partitions(rows: Rows, interned: Interned, region: int, nodes: int) -> Iterable[Partition]:
    sql = "SELECT position, name, saved, used FROM joint_partition WHERE region = ? ORDER BY position"
    found = list(rows.select(sql, (INTEGER, INTEGER, TEXT, INTEGER), region))
    if not found:
        raise ValueError("a joint graph has no partition")
    for position, name, saved, used in found:
        _check(integers(saved), nodes)
        halves = [tuple(_steps(rows, region, position, half, nodes)) for half in (0, 1)]
        yield Partition(interned.string(name), integers(saved), halves[0], halves[1], bool(used))


def _steps(rows: Rows, region: int, partition: int, half: int, nodes: int) -> Iterable[PartitionStep]:
    sql = "SELECT node, inputs FROM joint_step WHERE region = ? AND partition = ? AND half = ? ORDER BY position"
    for node, inputs in rows.select(sql, (INTEGER, TEXT), region, partition, half):
        _check((node, *integers(inputs)), nodes)
        yield PartitionStep(node, integers(inputs))


def _check(numbers: Iterable[int], nodes: int) -> None:
    """Raise ValueError when a number belongs to no node."""
    if not all(0 <= number < nodes for number in numbers):
        raise ValueError("a joint graph names a node that it has not")
