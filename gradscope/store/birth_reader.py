"""Reads where values that are not finite came from, and where they arrived."""

from __future__ import annotations

import json
import math
from typing import Any

from gradscope.model.birth import Arrival, Birth, Given
from gradscope.store.interned import Interned
from gradscope.store.rows import INTEGER, MAYBE, TEXT, Rows

_BIRTHS = """SELECT number, kind, step, thread, backward, node, operator, stack, call, argument, evidence, masked,
  masked_by FROM birth WHERE (kind = 'leapt') = ? ORDER BY number"""
_BIRTH_COLUMNS = (INTEGER, TEXT, *(INTEGER,) * 2, *(INTEGER | MAYBE,) * 2, *(INTEGER,) * 4, TEXT, *(INTEGER,) * 2)


def read_births(rows: Rows, interned: Interned) -> tuple[Birth, ...]:
    """Every operator that gave a NaN or Inf which arrived somewhere or was the last, in order."""
    return tuple(_birth(interned, row) for row in rows.select(_BIRTHS, _BIRTH_COLUMNS, 0))


def read_leaps(rows: Rows, interned: Interned) -> tuple[Birth, ...]:
    """Every operator of a backward seen to make a vast number of small ones, in order."""
    return tuple(_birth(interned, row) for row in rows.select(_BIRTHS, _BIRTH_COLUMNS, 1))


def read_arrivals(rows: Rows, interned: Interned) -> tuple[Arrival, ...]:
    """Where a NaN or Inf arrived, in order."""
    sql = "SELECT backward, place, leaf, birth, nan, inf FROM nonfinite ORDER BY rowid"
    found = rows.select(sql, (INTEGER, TEXT, INTEGER, INTEGER | MAYBE, INTEGER, INTEGER))
    return tuple(
        Arrival(backward, interned.name(leaf) or "leaf" if place == "gradient" else None, birth, nan, inf)
        for backward, place, leaf, birth, nan, inf in found
    )


def _birth(interned: Interned, row: tuple[Any, ...]) -> Birth:
    number, kind, step, thread, backward, node, operator, stack, call, argument, evidence, masked, masked_by = row
    told = _object(json.loads(evidence))
    result = _object(told["result"])
    return Birth(
        number=number,
        step=step,
        op=interned.string(operator),
        stack=interned.stack(stack),
        entered=kind == "entered",
        argument=interned.name(argument) or None,
        module=interned.call(call),
        thread=thread,
        backward=backward,
        node=node,
        shape=_sizes(result["shape"]),
        index=_sizes(result["index"]),
        value=_number(result.get("value")),
        nan=int(result["nan"]),
        inf=int(result["inf"]),
        device=_text(result.get("device")),
        given=tuple(_given(_object(one)) for one in told["arguments"]),
        masked=interned.name(masked),
        masked_by=interned.stack(masked_by),
    )


def _given(told: dict[str, Any]) -> Given:
    row = told.get("row")
    return Given(
        name=str(told["name"]),
        shape=_sizes(told["shape"]) if "shape" in told else None,
        dtype=str(told["dtype"]) if "dtype" in told else None,
        value=_number(told.get("value")),
        least=_number(told.get("least")),
        most=_number(told.get("most")),
        row=None if row is None else (_required(row[0]), _required(row[1])),
    )


def _object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError("an object was expected")
    return value


def _sizes(value: Any) -> tuple[int, ...]:
    if not isinstance(value, list) or any(type(size) is not int for size in value):
        raise ValueError("a list of integers was expected")
    return tuple(value)


def _text(value: Any) -> str | None:
    if value is not None and type(value) is not str:
        raise ValueError("a text was expected")
    return value


def _number(text: Any) -> float | None:
    """A value as Python prints it; None for what is not a real number, such as a complex one."""
    if text is None:
        return None
    if text in ("True", "False"):
        return float(text == "True")
    try:
        return float(text)
    except ValueError:
        return None


def _required(text: Any) -> float:
    found = _number(text)
    return math.nan if found is None else found
