"""Reads how a program gets past the hooks that DistributedDataParallel has on parameters."""

from __future__ import annotations

from gradscope.model.site import Site, user_site
from gradscope.model.training import ASSIGN
from gradscope.store.interned import Interned
from gradscope.store.rows import INTEGER, MAYBE, REAL, Rows


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
