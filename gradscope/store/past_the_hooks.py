"""Reads how a program gets past the hooks that DistributedDataParallel has on parameters."""

from __future__ import annotations

from bisect import bisect
from itertools import pairwise

from gradscope.model.site import Site, user_site
from gradscope.model.training import ASSIGN
from gradscope.store.interned import Interned
from gradscope.store.rows import INTEGER, MAYBE, REAL, Rows

_SMALL = 64  # bytes: what is shown of a step is no gradient of a model
_CALLS = "SELECT number, graph, started FROM backward WHERE kind != 'grad' ORDER BY number"
_KNOWN = "SELECT DISTINCT backward FROM block_run WHERE backward IS NOT NULL"
_REDUCED = """SELECT DISTINCT b.backward FROM collective_run r JOIN block_run b ON b.number = r.block_run
  WHERE b.backward IS NOT NULL ORDER BY 1"""
_EXCHANGED = """SELECT b.started FROM collective_run r JOIN collective c ON c.id = r.collective
  JOIN block_run b ON b.number = r.block_run WHERE b.backward IS NULL AND c.bytes > ? ORDER BY 1"""
_STEPPED = """SELECT DISTINCT i.backward FROM interval_run i JOIN training_call t ON t.interval = i.interval
  JOIN string s ON s.id = t.kind WHERE s.text IN ('step', 'scaled_step') AND i.backward IS NOT NULL"""
_GRAPHS_OF_WRAPPERS = """WITH RECURSIVE within(id) AS (
  SELECT c.id FROM call c JOIN string s ON s.id = c.class WHERE s.text LIKE '%DistributedDataParallel'
  UNION SELECT c.id FROM call c JOIN within w ON c.caller = w.id
  ) SELECT DISTINCT n.graph FROM node n JOIN within w ON w.id = n.call"""


def read_replaced(rows: Rows, interned: Interned, reducers: list[tuple[int, int]]) -> Site | None:
    """Where a state was first loaded with assign=True after a wrapper was made: stacks are numbered as they are new."""
    made = min((stack for _, stack in reducers if stack), default=None)
    sql = f"""SELECT DISTINCT t.stack FROM training_call t JOIN string s ON s.id = t.kind
      WHERE s.text = '{ASSIGN.name}' AND t.stack > ? ORDER BY 1 LIMIT 1"""
    found = () if made is None else rows.select(sql, (INTEGER,), made)
    return next((user_site(interned.stack(stack)) for (stack,) in found), None)


def read_derived(rows: Rows, interned: Interned) -> Site | None:
    """Where torch.autograd.grad() first took derivatives, where no backward() ran.

    None where the ranks gave each other as much from then on as the parameters that they began with: gradients, or
    parameters, may be averaged by hand in any form.
    """
    if rows.number("SELECT count(*) FROM backward WHERE kind != 'grad'"):
        return None
    first = "SELECT stack, started FROM backward WHERE nested_in IS NULL ORDER BY number LIMIT 1"
    for stack, started in rows.select(first, (INTEGER, REAL)):
        given = """SELECT sum(CASE WHEN b.started < ? THEN c.bytes END),
          sum(CASE WHEN b.started >= ? THEN c.bytes END) FROM collective_run r
          JOIN collective c ON c.id = r.collective JOIN block_run b ON b.number = r.block_run"""
        for before, after in rows.select(given, (INTEGER | MAYBE,) * 2, started, started):
            return user_site(interned.stack(stack)) if (after or 0) < (before or 0) else None
    return None


def read_exchanged_early(rows: Rows) -> int:
    """How many steps came after a backward in which gradients were reduced, and later ones in which none was."""
    known = {number for (number,) in rows.select(_KNOWN, (INTEGER,))}
    reduced = {number for (number,) in rows.select(_REDUCED, (INTEGER,))}
    stepped = sorted({number for (number,) in rows.select(_STEPPED, (INTEGER,))})
    windows = (range(first, after) for first, after in pairwise([0, *stepped]) if after > first)
    return sum(one[-1] in known - reduced and not reduced.isdisjoint(one) for one in windows)


def read_past_backwards(rows: Rows, after: int, until: int) -> list[tuple[int, int]]:
    """The backward calls between two, with their graphs, that came to nothing which ran in a wrapper and reduced no
    gradient, where the ones before them did, and that a step followed before the next: nothing as large as a gradient
    was exchanged until then. Of those whose operators are known."""
    known = {number for (number,) in rows.select(_KNOWN, (INTEGER,))}
    reduced = {number for (number,) in rows.select(_REDUCED, (INTEGER,))}
    stepped = {number for (number,) in rows.select(_STEPPED, (INTEGER,))}
    in_wrappers = {graph for (graph,) in rows.select(_GRAPHS_OF_WRAPPERS, (INTEGER,))}
    exchanged = [started for (started,) in rows.select(_EXCHANGED, (REAL,), _SMALL)]
    calls = rows.all(_CALLS, (INTEGER, INTEGER | MAYBE, REAL))
    first = min(reduced, default=until)
    return [
        (number, graph)
        for (number, graph, begun), (after_it, _, end) in pairwise(calls)
        if max(after, first) <= number < until and number in known - reduced and after_it in stepped
        if graph is not None and graph not in in_wrappers and bisect(exchanged, begun) == bisect(exchanged, end)
    ]
