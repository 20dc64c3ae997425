"""Reads the torch.func transforms of a run."""

from __future__ import annotations

from gradscope.model.transform import Escaped, Transform
from gradscope.store.interned import Interned
from gradscope.store.rows import INTEGER, MAYBE, TEXT, Rows


def read_transforms(rows: Rows, interned: Interned) -> tuple[Transform, ...]:
    """Every distinct transform, outer ones before inner ones."""
    sql = "SELECT number, kind, level, stack, outer, batch_size, randomness, calls FROM transform ORDER BY number"
    columns = (INTEGER, TEXT, INTEGER, INTEGER, INTEGER, INTEGER | MAYBE, INTEGER, INTEGER)
    found: list[Transform] = []
    numbers = set[int]()
    for number, kind, level, stack, outer, batch_size, randomness, calls in rows.select(sql, columns):
        if outer and outer not in numbers:
            raise ValueError("a transform runs inside one that is not there")
        numbers.add(number)
        name = interned.name(randomness)
        found.append(Transform(number, kind, level, interned.stack(stack), outer or None, batch_size, name, calls))
    return tuple(found)


def read_escaped(rows: Rows, interned: Interned) -> tuple[Escaped, ...]:
    """Tensors that outlived their transform, in the order in which they were found."""
    found = rows.select("SELECT transform, stack, name, holder FROM escaped ORDER BY rowid", (INTEGER,) * 4)
    return tuple(
        Escaped(transform, interned.string(name), interned.stack(stack), interned.name(holder))
        for transform, stack, name, holder in found
    )
