"""Reads of a recording what is compared between ranks, and nothing else: there may be a thousand of them."""

from __future__ import annotations

import json
from array import array
from bisect import bisect
from collections import deque
from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter

from gradscope.model.rank import Pace, Weights
from gradscope.model.run import ORDERS
from gradscope.model.site import Site, user_site
from gradscope.store.interned import Interned
from gradscope.store.rows import INTEGER, MAYBE, REAL, TEXT, Rows

_NAMELESS, _NAMELESS_ONES = "leaf", "left_alone = 4"
FIRST = 64  # backward calls that are enough to tell how fast a rank is


def read_last_operator(rows: Rows) -> tuple[int, int] | None:
    """The name and stack of the last operator that a run began."""
    sql = """SELECT r.started, o.name, o.stack FROM block_run r JOIN operation o ON o.block = r.block
      WHERE r.number >= (SELECT min(number) FROM (SELECT number FROM block_run ORDER BY number DESC LIMIT 4))
      ORDER BY r.number DESC, o.number DESC LIMIT 1"""
    return next(((name, stack) for _, name, stack in rows.select(sql, (REAL, INTEGER, INTEGER))), None)


def read_weights(rows: Rows, interned: Interned, derived: bool = False) -> Iterator[Weights]:
    """The norms of parameters at every look; where derivatives alone train them, at those of these."""
    if derived:
        yield from _of_kind(rows, interned, "left_alone = 3")
    else:
        yield from _norms(rows, interned, "SELECT backward, leaf, weight FROM leaf_size")


def read_derived_weights(rows: Rows, interned: Interned) -> Iterator[Weights]:
    """The norms of what derivatives alone train, at every look, whatever ranks exchange."""
    yield from _of_kind(rows, interned, "left_alone = 3")


def read_each_weight(rows: Rows, interned: Interned) -> Iterator[Weights]:
    """The norms of parameters at every look, of those without a name each by itself; nothing where there are none."""
    if rows.number(f"SELECT count(*) FROM buffer_size WHERE {_NAMELESS_ONES}"):
        named = "SELECT backward, leaf, weight FROM leaf_size"
        others = f"SELECT backward, name, norm FROM buffer_size WHERE {_NAMELESS_ONES}"
        for one in _norms(rows, interned, f"{named} UNION ALL {others}"):
            yield Weights(one.backward, tuple(each for each in one.norms if each[0] != _NAMELESS))


def read_graphs(rows: Rows) -> dict[int, int]:
    """The graph of each backward call, as a number; calls that are alike have one."""
    return dict(rows.select("SELECT number, graph FROM backward WHERE graph IS NOT NULL", (INTEGER, INTEGER)))


def read_buffers(rows: Rows, interned: Interned, all_of_them: bool = False) -> Iterator[Weights]:
    """The norms of buffers that nobody keeps equal, or of all of them, at every look."""
    yield from _of_kind(rows, interned, "left_alone < 2" if all_of_them else "left_alone = 1")


def read_copies(rows: Rows, interned: Interned) -> Iterator[Weights]:
    """The norms of the parameters of models that are built as one that trains, and have no gradient, at every look."""
    yield from _of_kind(rows, interned, "left_alone = 2")


def read_plain_states(rows: Rows, interned: Interned) -> dict[int, dict[int, float]]:
    """The norms of tensors that are neither a leaf's nor a buffer, by backward call and their number."""
    found = _of_kind(rows, interned, "left_alone = 5")
    return {one.backward: {int(name): float(norm) for name, norm in one.norms} for one in found}


def _of_kind(rows: Rows, interned: Interned, wanted: str) -> Iterator[Weights]:
    if rows.number(f"SELECT count(*) FROM buffer_size WHERE {wanted}"):
        yield from _norms(rows, interned, f"SELECT backward, name, norm FROM buffer_size WHERE {wanted}")


def _norms(rows: Rows, interned: Interned, sql: str) -> Iterator[Weights]:
    backwards, names, norms = rows.columns(sql, (INTEGER, INTEGER, TEXT))
    deque(map(float, norms), 0)  # ValueError for what is no number
    looks = sorted(zip(backwards, interned.strings(names), norms, strict=True))
    for backward, alike in groupby(looks, itemgetter(0)):
        yield Weights(backward, tuple((name, norm) for _, name, norm in alike))


def read_pace(rows: Rows, meets: bool) -> Pace:
    """How long a run was on the way to each of its first backward calls, without the very first. Where it `meets` the
    others on the way, from the first operator after that: who comes first to a collective waits there."""
    sql = f"""SELECT started, duration, thread FROM backward WHERE nested_in IS NULL AND duration IS NOT NULL
      ORDER BY number LIMIT {FIRST}"""
    calls = rows.all(sql, (REAL, REAL, INTEGER))
    ends = [started + duration for started, duration, _ in calls]
    free = [*_free(rows, calls[0][2], ends[-1])] if meets and calls else []
    begun = [started for started, *_ in calls[1:]]
    ways = array("d")
    for end, start in zip(ends, begun, strict=False):
        met = free[bisect(free, end) : bisect(free, start)]
        ways.append(start - (met[-1] if met else end))
    return Pace(ways, ends[-1] - ends[0] if ends else 0.0)


def _free(rows: Rows, thread: int, end: float) -> Iterator[float]:
    """When a thread ran the first operator after each collective, in order."""
    sql = """SELECT r.started, c.number IS NOT NULL FROM block_run r
      LEFT JOIN collective_run c ON c.block_run = r.number
      WHERE r.thread = ? AND r.started <= ? ORDER BY r.started"""
    waits = False
    for started, met in rows.select(sql, (REAL, INTEGER), thread, end):
        if waits:
            yield started
        waits = bool(met)


def read_given_bytes(rows: Rows) -> dict[int, int]:
    """By backward call, of the first ones: the bytes of the storages in its graph that it was given."""
    sql = f"""SELECT b.number, sum(x.bytes) FROM (SELECT number, tensors FROM backward ORDER BY number LIMIT {FIRST}) b
      JOIN (SELECT s.tensors, s.storage, max(s.bytes) AS bytes FROM given g JOIN saved s
        ON s.tensors = g.tensors AND s.storage = g.storage GROUP BY s.tensors, s.storage) x ON x.tensors = b.tensors
      GROUP BY b.number"""
    return dict(rows.select(sql, (INTEGER, INTEGER)))


def read_losses_as_text(rows: Rows) -> tuple[tuple[int, str], ...]:
    """The values that backward calls started from, as they are stored."""
    return tuple(rows.select("SELECT backward, value FROM loss ORDER BY backward", (INTEGER, TEXT)))


def read_nonfinite(rows: Rows, interned: Interned) -> tuple[int, Site | None, str | None] | None:
    """The first backward whose root was not finite, where that was born, and by which operator."""
    sql = "SELECT backward, birth FROM nonfinite WHERE place = 'root' ORDER BY backward LIMIT 1"
    for backward, birth in rows.select(sql, (INTEGER, INTEGER | MAYBE)):
        if birth is not None:
            born = "SELECT operator, stack FROM birth WHERE number = ?"
            for operator, stack in rows.select(born, (INTEGER, INTEGER), birth):
                return backward, user_site(interned.stack(stack)), interned.string(operator)
        return backward, None, None
    return None


def read_nonfinite_gradient(rows: Rows) -> int | None:
    """The first backward after which a leaf's gradient was not finite."""
    sql = "SELECT min(backward) FROM nonfinite WHERE place = 'gradient'"
    return next((backward for (backward,) in rows.select(sql, (INTEGER | MAYBE,))), None)


def read_orders(rows: Rows) -> str:
    """The names of parameters and buffers in each wrapper, in their order, as they are stored; empty where unknown."""
    return next((text for (text,) in rows.select(f"SELECT value FROM run WHERE name = '{ORDERS}'", (TEXT,))), "")


def read_place(rows: Rows) -> Site | None:
    """Where the main thread stood at the last heartbeat."""
    for (text,) in rows.select("SELECT value FROM run WHERE name = 'at'", (TEXT,)):
        place = json.loads(text)
        if place is None:
            return None
        if not isinstance(place, list) or [type(part) for part in place] != [str, int, str]:
            raise ValueError("the place of the main thread is no file, line and function")
        file, number, function = place
        return Site(file, number, function)
    return None
