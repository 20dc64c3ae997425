"""Reads what `trace --tensors` stored of a backward call: operator calls with their arguments, and memory."""

from __future__ import annotations

import json
from typing import Any

from gradscope.model.dispatch import Constant, Dispatch, Exchange, Phase, Place, StoredBackward, Zeros
from gradscope.model.tensor import StoredTensor, TensorRole, TensorType
from gradscope.store.interned import Interned
from gradscope.store.rows import BYTES, INTEGER, MAYBE, TEXT, Rows

_CONSTANTS = ("dtype", "layout", "memory_format", "device", "generator")
_CONDITIONS = {"threads": int, "deterministic": bool, "mkldnn": bool, "matmul_precision": str, "default_dtype": str}
_PLAIN = (bool, int, float, str)


def read_stored(rows: Rows, interned: Interned, backward: int) -> StoredBackward:
    """What was stored of one backward call; empty when there is nothing."""
    sql = "SELECT number, bytes FROM storage WHERE backward = ?"
    storages = dict(rows.select(sql, (INTEGER, BYTES), backward))
    dispatches, exchanges = _dispatches(rows, interned, backward), _exchanges(rows, backward)
    ran = {call.node for call in dispatches if call.node is not None} | {each.node for each in exchanges}
    _check_nodes(rows, backward, ran)
    return StoredBackward(
        storages, read_tensors(rows, interned, backward), dispatches, exchanges, _conditions(rows, backward)
    )


def read_tensors(rows: Rows, interned: Interned, backward: int) -> tuple[StoredTensor, ...]:
    """The root gradients and saved tensors among what was stored."""
    sql = "SELECT role, node, position, type, storage FROM tensor WHERE backward = ? ORDER BY role, node, position"
    return tuple(
        StoredTensor(TensorRole(role), node, position, interned.type(kind), storage)
        for role, node, position, kind, storage in rows.select(sql, (INTEGER,) * 5, backward)
    )


def _dispatches(rows: Rows, interned: Interned, backward: int) -> tuple[Dispatch, ...]:
    sql = """SELECT position, node, phase, operator, arguments, generator, results FROM dispatch
      WHERE backward = ? ORDER BY position"""
    columns = (INTEGER, INTEGER | MAYBE, INTEGER, INTEGER, TEXT | MAYBE, INTEGER | MAYBE, TEXT | MAYBE)
    found = []
    for position, node, phase, operator, given, generator, results in rows.select(sql, columns, backward):
        arguments: tuple[Any, ...] | None = None
        keywords: dict[str, Any] | None = None
        if given is not None:
            positional, named = json.loads(given)
            arguments = tuple(decode(value) for value in positional)
            keywords = {str(name): decode(value) for name, value in dict(named).items()}
        made = None if results is None else decode(json.loads(results))
        place = (position, node, Phase(phase), interned.string(operator))
        found.append(Dispatch(*place, arguments, keywords, generator, made))
    return tuple(found)


def _exchanges(rows: Rows, backward: int) -> tuple[Exchange, ...]:
    sql = "SELECT node, received, passed FROM exchange WHERE backward = ? ORDER BY position"
    return tuple(
        Exchange(node, _places(received), _places(passed))
        for node, received, passed in rows.select(sql, (INTEGER, TEXT, TEXT), backward)
    )


def _check_nodes(rows: Rows, backward: int, named: set[int]) -> None:
    sql = "SELECT graph.nodes FROM backward JOIN graph ON graph.id = backward.graph WHERE number = ?"
    count = next((nodes for (nodes,) in rows.select(sql, (INTEGER,), backward)), 0)
    if any(not 0 <= node < count for node in named):
        raise ValueError("an operator ran in a node that is not there")


def _conditions(rows: Rows, backward: int) -> dict[str, bool | int | str]:
    sql = "SELECT name, value FROM condition WHERE backward = ?"
    found = {name: json.loads(value) for name, value in rows.select(sql, (TEXT, TEXT), backward)}
    if any(type(found[name]) is not kind for name, kind in _CONDITIONS.items() if name in found):
        raise ValueError("a switch of torch has an impossible value")
    return found


def _places(text: str) -> tuple[Place | None, ...]:
    values = tuple(decode(value) for value in json.loads(text))
    if not all(value is None or isinstance(value, Place) for value in values):
        raise ValueError("a gradient is not a place in memory")
    return values


def decode(value: Any) -> Any:
    """A value as it was stored: plain data, tuples, Places, Zeros, Constants. Raises ValueError for anything else."""
    if value is None or type(value) in _PLAIN:
        return value
    if type(value) is list:
        return tuple(decode(one) for one in value)
    if type(value) is not dict:
        raise ValueError("an argument of an operator is not understood")
    return _object(value)


def _object(value: dict[str, Any]) -> Any:
    if "tensor" in value:
        return _place(value)
    if "zeros" in value:
        return Zeros(_type(value["zeros"], value))
    if "float" in value:
        return float(value["float"])
    if "complex" in value:
        real, imaginary = (decode(part) for part in value["complex"])
        return complex(real, imaginary)
    ((kind, text),) = value.items()
    if kind not in _CONSTANTS or type(text) is not str:
        raise ValueError("an argument of an operator is not understood")
    return Constant(kind, text)


def _place(value: dict[str, Any]) -> Place:
    shape, strides, digest = value["shape"], value["strides"], value.get("digest")
    numbers = (value["tensor"], value["offset"], *shape, *strides)
    if len(shape) != len(strides) or any(type(one) is not int or one < 0 for one in numbers):
        raise ValueError("a tensor lies outside of its memory")
    if digest is not None and type(digest) is not str:
        raise ValueError("a tensor's digest is no text")
    kind = _type(shape, value)
    bits = (value.get("conj") is True, value.get("neg") is True)
    return Place(value["tensor"], value["offset"], kind, tuple(strides), *bits, digest)


def _type(shape: Any, value: dict[str, Any]) -> TensorType:
    dtype, device = value["dtype"], value["device"]
    if any(type(one) is not int for one in shape) or type(dtype) is not str or type(device) is not str:
        raise ValueError("a tensor has no type")
    return TensorType(tuple(shape), dtype, device)
