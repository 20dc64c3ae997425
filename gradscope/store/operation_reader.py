"""Reads operators, a stretch at a time: a run has millions, so nothing here holds them all."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace

from gradscope.model.operation import Block, Operation, Write
from gradscope.store.interned import Interned
from gradscope.store.rows import INTEGER, MAYBE, REAL, TEXT, Row, Rows, StandFor, finite

_OPERATIONS = "SELECT name, stack, call, node, grad FROM operation WHERE block = ?"  # by its key, and so in order


def read_blocks(rows: Rows, interned: Interned, among: str = "") -> Iterator[Block]:
    """Every stretch of operators in the order of recording, or only those `among` the numbers that a query selects."""
    known: dict[int, tuple[Operation, ...]] = {}  # steps repeat: a thousand stretches may point at one stored block
    alike = _Alike(interned)  # and blocks of other shapes are made of the same calls
    chosen = f"WHERE number IN ({among})" if among else ""
    sql = f"""SELECT number, block, thread, backward, started, versions, watched,
      EXISTS (SELECT 1 FROM written w WHERE w.block = r.block) FROM block_run r {chosen} ORDER BY number"""
    columns = (INTEGER, INTEGER, INTEGER, INTEGER | MAYBE, REAL, TEXT | MAYBE, INTEGER, INTEGER)
    for number, block, thread, backward, started, first, watched, writes in rows.select(sql, columns):
        if block not in known:
            known[block] = tuple((_written if writes else _operations)(rows, block, alike))
        versions = () if first is None else tuple(map(int, json.loads(first)))
        yield Block(number, known[block], thread, backward, finite(started), bool(watched), versions)


class _Alike:
    """Operations by their rows, each made once."""

    def __init__(self, interned: Interned) -> None:
        self.interned = interned
        self._writing: dict[tuple[int, tuple[Write, ...]], Operation] = {}
        self.by_row = StandFor((*(INTEGER,) * 3, INTEGER | MAYBE, INTEGER), self._made)

    def writing(self, one: Operation, writes: tuple[Write, ...]) -> Operation:
        """One that writes in place."""
        key = id(one), writes
        found = self._writing.get(key)
        if found is None:
            found = self._writing[key] = replace(one, writes=writes)
        return found

    def _made(self, row: Row) -> Operation:
        name, stack, call, node, grad = row
        place = (self.interned.string(name), self.interned.stack(stack), self.interned.call(call))
        return Operation(*place, node, (), bool(grad))


def _operations(rows: Rows, block: int, alike: _Alike) -> list[Operation]:
    return rows.each(_OPERATIONS, alike.by_row, block)


def _written(rows: Rows, block: int, alike: _Alike) -> list[Operation]:
    """Those of a block of which some write in place."""
    found, writes = _operations(rows, block, alike), _writes(rows, alike.interned, block)
    for place, written in writes.items():  # operators are numbered by their place
        if 0 <= place < len(found):
            found[place] = alike.writing(found[place], tuple(written))
    return found


def _writes(rows: Rows, interned: Interned, block: int) -> dict[int, list[Write]]:
    found: dict[int, list[Write]] = defaultdict(list)
    sql = "SELECT operation, argument, version, storage, leaf FROM written WHERE block = ? ORDER BY operation, position"
    columns = (INTEGER, INTEGER, INTEGER | MAYBE, INTEGER, INTEGER)
    for operation, argument, version, storage, leaf in rows.select(sql, columns, block):
        found[operation].append(Write(interned.string(argument), version, storage, interned.name(leaf)))
    return found
