"""Reads operators, a stretch at a time: a run has millions, so nothing here holds them all."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Container, Iterator
from typing import Any

from gradscope.model.operation import Block, Operation, Write
from gradscope.store.interned import Interned
from gradscope.store.rows import INTEGER, MAYBE, REAL, TEXT, Rows, finite

Row = tuple[Any, ...]


def read_blocks(
    rows: Rows, interned: Interned, only: Container[int] | None = None, versions: bool = True
) -> Iterator[Block]:
    """Every stretch of operators, or only those with these numbers, in the order in which they were recorded.

    Without `versions`, those of what a stretch writes are those of the first step that was like it.
    """
    known: dict[int, tuple[Operation, ...]] = {}  # steps repeat: a thousand stretches may point at one stored block
    alike: dict[Row, Operation] = {}  # and blocks of other shapes are made of the same calls
    sql = "SELECT number, block, thread, backward, started, versions, watched FROM block_run ORDER BY number"
    columns = (INTEGER, INTEGER, INTEGER, INTEGER | MAYBE, REAL, TEXT | MAYBE, INTEGER)
    for number, block, thread, backward, started, first, watched in rows.select(sql, columns):
        if only is not None and number not in only:
            continue
        if block not in known:
            known[block] = _operations(rows, interned, block, alike)
        operations = known[block]
        if versions and first is not None:
            operations = _with_versions(operations, json.loads(first))
        yield Block(number, operations, thread, backward, finite(started), bool(watched))


def _with_versions(operations: tuple[Operation, ...], first: list[int]) -> tuple[Operation, ...]:
    """The same stretch in another step: the versions of what it writes go on from those at its first writes."""
    return tuple(_later(one, first) if one.writes else one for one in operations)


def _later(one: Operation, first: list[int]) -> Operation:
    """Built without `replace`, which takes five times as long: a run has hundreds of thousands of them."""
    writes = tuple(
        write
        if write.version is None
        else Write(write.argument, write.version + int(first[write.storage]), write.storage, write.leaf)
        for write in one.writes
    )
    return Operation(one.name, one.stack, one.module, one.node, writes, one.grad)


def _operations(rows: Rows, interned: Interned, block: int, alike: dict[Row, Operation]) -> tuple[Operation, ...]:
    writes = _writes(rows, interned, block)
    sql = "SELECT number, name, stack, call, node, grad FROM operation WHERE block = ? ORDER BY number"
    found = []
    for row in rows.all(sql, (*(INTEGER,) * 4, INTEGER | MAYBE, INTEGER), block):
        written = tuple(writes.get(row[0], ()))
        key = (row[1:], written)
        operation = alike.get(key)
        if operation is None:
            _, name, stack, call, node, grad = row
            place = (interned.string(name), interned.stack(stack), interned.call(call))
            operation = alike[key] = Operation(*place, node, written, bool(grad))
        found.append(operation)
    return tuple(found)


def _writes(rows: Rows, interned: Interned, block: int) -> dict[int, list[Write]]:
    found: dict[int, list[Write]] = defaultdict(list)
    sql = "SELECT operation, argument, version, storage, leaf FROM written WHERE block = ? ORDER BY operation, position"
    columns = (INTEGER, INTEGER, INTEGER | MAYBE, INTEGER, INTEGER)
    for operation, argument, version, storage, leaf in rows.select(sql, columns, block):
        found[operation].append(Write(interned.string(argument), version, storage, interned.name(leaf)))
    return found
