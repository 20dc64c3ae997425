"""Reads the calls by which a program trains, learning rates, and how much steps change."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from gradscope.model.training import KINDS, Interval, LearningRate, TrainingCall, Update
from gradscope.store.interned import Interned
from gradscope.store.rows import INTEGER, MAYBE, TEXT, Rows


def read_intervals(rows: Rows, interned: Interned) -> Iterator[Interval]:
    """The calls between backward calls, in order."""
    calls: dict[int, list[TrainingCall]] = defaultdict(list)
    sql = "SELECT interval, kind, optimizer, module, stack, count, total FROM training_call ORDER BY interval, position"
    for number, kind, optimizer, module, stack, count, total in rows.select(sql, (INTEGER,) * 7):
        known = KINDS.get(interned.string(kind))
        if known is None:
            raise ValueError("a kind of call that is not known")
        where = interned.stack(stack)
        calls[number].append(TrainingCall(known, optimizer or None, interned.name(module), where, count, total))
    told = {}
    for number, count in rows.select("SELECT id, calls FROM interval ORDER BY id", (INTEGER, INTEGER)):
        told[number] = tuple(calls.get(number, ()))
        if len(told[number]) != count:
            raise ValueError("calls of an interval are missing")
    sql = "SELECT thread, backward, interval FROM interval_run ORDER BY number"
    for thread, backward, interval in rows.select(sql, (INTEGER, INTEGER | MAYBE, INTEGER)):
        yield Interval(backward, thread, told.get(interval, ()))


def read_learning_rates(rows: Rows) -> Iterator[LearningRate]:
    """The learning rates, where they change, by optimizer and step."""
    sql = "SELECT optimizer, count, part, value FROM learning_rate ORDER BY optimizer, count, part"
    for optimizer, count, group, value in rows.select(sql, (INTEGER, INTEGER, INTEGER, TEXT)):
        yield LearningRate(optimizer, count, group, float(value))


def read_losses(rows: Rows) -> dict[int, float]:
    """The values that backward calls started from, by number."""
    found = rows.select("SELECT backward, value FROM loss ORDER BY backward", (INTEGER, TEXT))
    return {backward: float(value) for backward, value in found}


def read_scales(rows: Rows) -> dict[int, float]:
    """The factors of scalers that stepped after backward calls, by the call's number."""
    found = rows.select("SELECT backward, value FROM scale ORDER BY backward", (INTEGER, TEXT))
    return {backward: float(value) for backward, value in found}


def read_updates(rows: Rows, interned: Interned) -> Iterator[Update]:
    """How much steps changed each parameter, by optimizer and step."""
    sql = "SELECT optimizer, count, name, changed, elements FROM parameter_update ORDER BY optimizer, count, position"
    for optimizer, count, name, changed, elements in rows.select(sql, (INTEGER,) * 5):
        yield Update(optimizer, count, interned.string(name), changed, elements)
