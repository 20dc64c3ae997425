"""Reads how a rank's gradients are averaged with those of others."""

from __future__ import annotations

import re
from collections.abc import Mapping

from gradscope.model.averaging import Averaging, ByHand, GroupKey
from gradscope.model.hook import IGNORED
from gradscope.model.rank import ProcessGroup
from gradscope.model.site import Origin, Site, Stack, user_site
from gradscope.store.interned import Interned
from gradscope.store.past_the_hooks import read_derived, read_replaced
from gradscope.store.rows import INTEGER, MAYBE, TEXT, Rows

_REDUCES = (".allreduce", "functional.all_reduce")
_WRAPPER = "DistributedDataParallel"
_INSIDE = re.compile(r"\.module\b")  # the attribute in which it has what it wraps
_ON = re.compile(r" of (\w+)")  # the class of the module in it, in what a reducer is on
_OPERATOR = """JOIN block_run b ON b.number = r.block_run JOIN block k ON k.id = b.block
  JOIN operation o ON o.block = k.id AND o.number = k.operations - 1"""
_STEPS = """SELECT DISTINCT t.interval FROM training_call t JOIN string s ON s.id = t.kind
  WHERE s.text IN ('step', 'scaled_step')"""


def read_reducers(rows: Rows) -> list[tuple[int, int]]:
    """Of each wrapper that averages gradients: what it is on, and the stack that made it, as numbers."""
    return rows.all("SELECT target, stack FROM hook WHERE kind = 'reducer'", (INTEGER, INTEGER))


def read_averaging(
    rows: Rows,
    interned: Interned,
    reducers: list[tuple[int, int]],
    groups: Mapping[int, ProcessGroup],
    sites: Mapping[int, Site],
) -> Averaging:
    """What is known of it; `groups` are the process groups by number, `sites` the lines of the reducers' stacks."""
    by_hand = _by_hand(rows, interned, groups)
    if not reducers:
        derived = None if by_hand else read_derived(rows, interned)
        return Averaging(by_hand=by_hand, in_hooks=_in_hooks(rows, interned, groups), derived=derived)
    averaged = _groups(rows, groups)
    called = _in_wrappers(rows, interned) if averaged and len(reducers) > 1 else frozenset()
    never = [reducer for reducer in reducers if called and _wraps(interned, reducer) not in called]
    past = _hooked(rows, interned, never)
    made = [stack for _, stack in never or reducers if stack]
    bypassed, way = (None, ()) if averaged or _is_called(rows) else _past_the_wrapper(rows, interned)
    return Averaging(
        leaves=_hooked(rows, interned, reducers),
        ignores=any(IGNORED in interned.string(target) for target, _ in reducers),
        wrapped=sites.get(made[0]) if made else None,
        groups=averaged,
        by_hand=by_hand,
        past=past,
        bypassed=read_beside_the_wrapper(rows, interned, called) if past else bypassed,
        way_past=() if past else way,
        replaced=read_replaced(rows, interned, reducers),
        derived=None if averaged else read_derived(rows, interned),
        unsynchronised=_held_back(rows, interned) if averaged else user_site(_first_call(rows, interned, "no_sync")),
    )


def _hooked(rows: Rows, interned: Interned, of: list[tuple[int, int]]) -> frozenset[str]:
    """The leaves on which hooks of some reducers hang."""
    targets = ", ".join(str(target) for target, _ in of)
    sql = f"""SELECT DISTINCT n.leaf FROM (
      SELECT DISTINCT b.graph, h.node FROM hook k JOIN hook_on h ON h.hook = k.number
      JOIN backward b ON b.number = h.backward WHERE k.kind = 'reducer' AND k.target IN ({targets})
      ) x JOIN node n ON n.graph = x.graph AND n.number = x.node WHERE n.leaf"""
    return frozenset(interned.strings([leaf for (leaf,) in rows.all(sql, (INTEGER,))]))


def _groups(rows: Rows, groups: Mapping[int, ProcessGroup]) -> frozenset[GroupKey]:
    """The groups in which something was reduced while a leaf's node ran, else at the end of a backward."""
    sql = f"""SELECT DISTINCT x.process_group, coalesce(n.leaf, 0) != 0 FROM (
      SELECT DISTINCT c.process_group, w.graph, o.node FROM collective_run r
      JOIN collective c ON c.id = r.collective {_OPERATOR} JOIN backward w ON w.number = b.backward
      ) x LEFT JOIN node n ON n.graph = x.graph AND n.number = x.node WHERE x.node IS NULL OR n.leaf != 0"""
    found = list(rows.select(sql, (INTEGER, INTEGER)))
    of_leaves = [group for group, is_leafs in found if is_leafs]
    return frozenset(groups[group].key for group in of_leaves or [group for group, _ in found])


def _by_hand(rows: Rows, interned: Interned, groups: Mapping[int, ProcessGroup]) -> tuple[ByHand, ...]:
    if not rows.number("SELECT count(*) FROM reduced_gradient"):
        return ()
    sql = f"""SELECT DISTINCT g.leaf, c.process_group, o.name, o.stack FROM reduced_gradient g
      CROSS JOIN collective_run r ON r.number = g.collective_run JOIN collective c ON c.id = r.collective {_OPERATOR}
      ORDER BY 1, 2, 4"""
    return _reduced(rows, interned, groups, sql)


def _in_hooks(rows: Rows, interned: Interned, groups: Mapping[int, ProcessGroup]) -> tuple[ByHand, ...]:
    """What was reduced in the nodes of leaves, by hooks on these: as large as the leaf, and no copy of the gradient,
    which may only be shown."""
    if not rows.number("SELECT count(*) FROM collective_run"):
        return ()
    sql = rf"""SELECT DISTINCT n.leaf, c.process_group, o.name, o.stack FROM collective_run r
      JOIN collective c ON c.id = r.collective {_OPERATOR} JOIN backward w ON w.number = b.backward
      JOIN node n ON n.graph = w.graph AND n.number = o.node
      JOIN (SELECT DISTINCT name, type FROM flow_tensor WHERE parameter) f ON f.name = n.leaf
      WHERE n.leaf AND c.types = '[' || f.type || ']' AND NOT EXISTS (
        SELECT 1 FROM operation p JOIN string s ON s.id = p.name WHERE p.block = k.id AND p.node = o.node
        AND p.number < o.number AND s.text NOT LIKE 'aten.%\_.%' ESCAPE '\' AND s.text NOT LIKE 'aten.detach%')
      ORDER BY 1, 2, 4"""
    return _reduced(rows, interned, groups, sql)


def _reduced(rows: Rows, interned: Interned, groups: Mapping[int, ProcessGroup], sql: str) -> tuple[ByHand, ...]:
    found: dict[tuple[str, GroupKey], Site | None] = {}
    for leaf, group, name, stack in rows.select(sql, (INTEGER,) * 4):
        if any(one in interned.string(name) for one in _REDUCES):
            found.setdefault((interned.string(leaf), groups[group].key), user_site(interned.stack(stack)))
    return tuple(ByHand(leaf, group, site) for (leaf, group), site in sorted(found.items(), key=lambda one: one[0]))


def _in_wrappers(rows: Rows, interned: Interned) -> frozenset[str]:
    """The classes of modules that ran in a wrapper which was called."""
    sql = f"""SELECT DISTINCT c.class FROM call c JOIN call w ON w.id = c.caller
      JOIN string s ON s.id = w.class WHERE s.text LIKE '%{_WRAPPER}'"""
    return frozenset(interned.strings([name for (name,) in rows.all(sql, (INTEGER,))]))


def _wraps(interned: Interned, reducer: tuple[int, int]) -> str:
    """The class of the module in a wrapper."""
    found = _ON.search(interned.string(reducer[0]))
    return "" if found is None else found[1]


def _is_called(rows: Rows) -> bool:
    """Whether a wrapper was called, or a module whose class is called alike."""
    sql = f"SELECT count(*) FROM (SELECT 1 FROM call c JOIN string s ON s.id = c.class WHERE s.text LIKE '%{_WRAPPER}')"
    return bool(rows.number(sql))


def _past_the_wrapper(rows: Rows, interned: Interned) -> tuple[Site | None, Stack]:
    """The line that asks for the module inside the wrapper, which may have a method that calls it; else of its call,
    and under which stack.

    With gradients on, where it is called so: what is called without has none to average.
    """
    stack = _first_call(rows, interned, "forward", "AND t.total") or read_first_forward(rows, interned)
    asks = (site for site in stack if site.origin is Origin.USER and _INSIDE.search(site.source or ""))
    asked = next(asks, None)
    return (user_site(stack), stack) if asked is None else (asked, ())


def read_first_forward(rows: Rows, interned: Interned) -> Stack:
    """Where the program first called a model."""
    return _first_call(rows, interned, "forward")


def read_beside_the_wrapper(rows: Rows, interned: Interned, but: frozenset[str] = frozenset()) -> Site | None:
    """The first line that asks for the module inside a wrapper and calls it, or a part of it; not one of some classes,
    as those of modules are that others call in their wrapper."""
    sql = """SELECT t.stack, m.text FROM training_call t JOIN string s ON s.id = t.kind
      LEFT JOIN string m ON m.id = t.module WHERE s.text = 'forward'
      GROUP BY t.stack, t.module ORDER BY min(t.interval), min(t.position)"""
    for stack, name in rows.select(sql, (INTEGER, TEXT | MAYBE)):
        if (name or "").partition("#")[0] in but:
            continue
        for site in interned.stack(stack):
            if site.origin is Origin.USER and _INSIDE.search(site.source or ""):
                return site
    return None


def _first_call(rows: Rows, interned: Interned, kind: str, which: str = "") -> Stack:
    """Where the first call of a kind is by which the program trains."""
    sql = f"""SELECT t.stack FROM training_call t JOIN string s ON s.id = t.kind WHERE s.text = '{kind}' {which}
      ORDER BY t.interval, t.position LIMIT 1"""
    return next((interned.stack(stack) for (stack,) in rows.select(sql, (INTEGER,))), ())


def _held_back(rows: Rows, interned: Interned) -> Site | None:
    """The line of the first no_sync() that was entered before a backward which an optimizer's step followed."""
    if not _first_call(rows, interned, "no_sync"):
        return None
    sql = """SELECT i.thread, i.interval, t.stack FROM interval_run i LEFT JOIN (
      SELECT c.interval, min(c.stack) AS stack FROM training_call c JOIN string s ON s.id = c.kind
      WHERE s.text = 'no_sync' GROUP BY c.interval) t ON t.interval = i.interval ORDER BY i.number"""
    stepped = {interval for (interval,) in rows.select(_STEPS, (INTEGER,))}
    entered: dict[int, int | None] = {}  # by thread, in the interval before
    for thread, interval, stack in rows.select(sql, (INTEGER, INTEGER, INTEGER | MAYBE)):
        before = entered.get(thread)
        if before is not None and interval in stepped:
            return user_site(interned.stack(before))
        entered[thread] = stack
    return None
