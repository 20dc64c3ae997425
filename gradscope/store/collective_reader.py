"""Reads the collectives that a run entered, with what they were given, and its process groups."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from gradscope.model.rank import Collective, ProcessGroup
from gradscope.model.site import Site, Stack
from gradscope.model.tensor import TensorType
from gradscope.store.interned import Interned
from gradscope.store.rows import INTEGER, MAYBE, TEXT, Rows, integers

_BETWEEN_TWO = ("send", "recv_", "recv_any_source_", "isend", "irecv", "batch_p2p_ops")
_RUNS = """SELECT r.number, r.block_run, r.collective, r.sequence, o.name, o.stack
  FROM collective_run r JOIN block_run b ON b.number = r.block_run JOIN block k ON k.id = b.block
  JOIN operation o ON o.block = k.id AND o.number = k.operations - 1 ORDER BY r.number"""


Run = tuple[int, int, int, int | None, int, int]


class Entered(NamedTuple):
    """A collective as it was entered: what it was, its place in its group, the call that ran or the next one."""

    number: int
    kind: int
    sequence: int | None
    backward: int


def read_process_groups(rows: Rows, interned: Interned) -> dict[int, ProcessGroup]:
    """The process groups that collectives were entered in, by number."""
    sql = "SELECT number, name, backend, members, before FROM process_group ORDER BY number"
    return {
        number: ProcessGroup(interned.string(name), interned.string(backend), integers(members), before)
        for number, name, backend, members, before in rows.select(
            sql, (INTEGER, INTEGER, INTEGER, TEXT, INTEGER | MAYBE)
        )
    }


def read_groups_of_runs(rows: Rows) -> dict[int, int]:
    """By stretch of operators that ended with a collective: the number of its process group."""
    sql = "SELECT r.block_run, c.process_group FROM collective_run r JOIN collective c ON c.id = r.collective"
    return dict(rows.select(sql, (INTEGER, INTEGER)))


def read_gradients_of_runs(rows: Rows, interned: Interned) -> dict[int, str]:
    """By stretch of operators that ended with a collective: a leaf whose measured gradient it was given."""
    sql = """SELECT r.block_run, min(g.leaf) FROM reduced_gradient g
      JOIN collective_run r ON r.number = g.collective_run GROUP BY 1"""
    return {run: interned.string(leaf) for run, leaf in rows.select(sql, (INTEGER, INTEGER))}


def read_reduced_leaves(rows: Rows, interned: Interned) -> dict[int, set[str]]:
    """By stretch of operators that ended with a collective: all leaves whose measured gradients it was given."""
    sql = """SELECT r.block_run, g.leaf FROM reduced_gradient g
      JOIN collective_run r ON r.number = g.collective_run ORDER BY 1, 2"""
    found: dict[int, set[str]] = {}
    for run, leaf in rows.select(sql, (INTEGER, INTEGER)):
        found.setdefault(run, set()).add(interned.string(leaf))
    return found


def read_runs(rows: Rows) -> list[Run]:
    """The collectives that a run entered: number, stretch of operators, what was given, place, operator and stack."""
    return rows.all(_RUNS, (INTEGER, INTEGER, INTEGER, INTEGER | MAYBE, INTEGER, INTEGER))


def read_collectives(
    rows: Rows, interned: Interned, runs: list[Run], groups: Mapping[int, ProcessGroup], sites: Mapping[int, Site]
) -> tuple[list[Collective], list[Entered]]:
    """What these have in common that differ in their time alone, and each as it was entered, in order."""
    kinds: dict[tuple[int, ...], int] = {}
    found: list[Collective] = []
    entered: list[Entered] = []
    given = _given(rows, interned, groups) if runs else {}
    when = read_moments(rows, {row[1] for row in runs}) if runs else {}
    for number, block_run, collective, sequence, name, stack in runs:
        backward, inside = when[block_run]
        key = (collective, name, stack, inside)
        if key not in kinds:
            operator = interned.string(name)
            two = any(f".{one}." in operator for one in _BETWEEN_TWO)
            kinds[key] = len(found)
            line = sites.get(stack)
            found.append(Collective(operator, line, 0, inside, *given[collective], between_two=two))
        entered.append(Entered(number, kinds[key], sequence, backward))
    return found, entered


def user_sites(rows: Rows, interned: Interned, stacks: Iterable[int]) -> dict[int, Site]:
    """The user's innermost line of each of some stacks, without reading the rest of them."""
    numbers = ", ".join(map(str, sorted(set(stacks))))
    sql = f"""WITH RECURSIVE up(stack, caller, frame) AS (
      SELECT id, caller, frame FROM stack WHERE id IN ({numbers}) UNION
      SELECT up.stack, s.caller, s.frame FROM up JOIN frame f ON f.id = up.frame AND f.origin != 0
      JOIN stack s ON s.id = up.caller
    ) SELECT up.stack, f.file, f.line, f.function, f.origin FROM up JOIN frame f ON f.id = up.frame AND f.origin = 0"""
    return {stack: interned.place(*frame) for stack, *frame in rows.select(sql, (INTEGER,) * 5)}


def read_wait(rows: Rows, number: int) -> int | None:
    """The stack that waited for the result of an asynchronous collective."""
    sql = """SELECT o.stack FROM block_run b JOIN block k ON k.id = b.block
      JOIN operation o ON o.block = k.id AND o.number = k.operations - 1 WHERE b.number = ?"""
    runs = rows.all("SELECT block_run FROM collective_wait WHERE collective_run = ?", (INTEGER,), number)
    return next((stack for (run,) in runs for (stack,) in rows.select(sql, (INTEGER,), run)), None)


def read_place(
    rows: Rows, interned: Interned, key: tuple[str, tuple[int, ...]], sequence: int
) -> tuple[Stack, int | None, int] | None:
    """Of the collective that a group entered at a place: its stack, the backward call that it ran in, and the stretch
    of operators that it ended."""
    numbers = [number for number, group in read_process_groups(rows, interned).items() if group.key == key]
    sql = f"""SELECT o.stack, b.backward, b.number FROM collective_run r JOIN collective c ON c.id = r.collective
      JOIN block_run b ON b.number = r.block_run JOIN block k ON k.id = b.block
      JOIN operation o ON o.block = k.id AND o.number = k.operations - 1
      WHERE r.sequence = ? AND c.process_group IN ({", ".join(map(str, numbers))})"""
    found = rows.select(sql, (INTEGER, INTEGER | MAYBE, INTEGER), sequence)
    return next(((interned.stack(stack), backward, number) for stack, backward, number in found), None)


def read_backward_before(rows: Rows, run: int) -> int | None:
    """The last backward call of which something ran before a stretch of operators."""
    sql = "SELECT max(backward) FROM block_run WHERE number < ?"
    return next((backward for (backward,) in rows.select(sql, (INTEGER | MAYBE,), run)), None)


def read_moments(rows: Rows, wanted: set[int]) -> dict[int, tuple[int, bool]]:
    """By stretch of operators: the backward call that it ran in, or the next one, and whether in it."""
    found: dict[int, tuple[int, bool]] = {}
    before = 0
    sql = "SELECT number, backward FROM block_run ORDER BY number"
    for number, backward in rows.select(sql, (INTEGER, INTEGER | MAYBE)):
        if number in wanted:
            found[number] = (before, False) if backward is None else (backward, True)
        if backward is not None:
            before = backward + 1
    return found


def _given(
    rows: Rows, interned: Interned, groups: Mapping[int, ProcessGroup]
) -> dict[int, tuple[ProcessGroup, tuple[TensorType, ...], int, int | None, bool]]:
    """What collectives were given, by number: group, types, size, peer and whether they were asynchronous."""
    sql = "SELECT id, process_group, types, bytes, peer, asynchronous FROM collective"
    columns = (INTEGER, INTEGER, TEXT, INTEGER, INTEGER | MAYBE, INTEGER)
    return {
        number: (groups[group], tuple(map(interned.type, integers(types))), size, peer, bool(asynchronous))
        for number, group, types, size, peer, asynchronous in rows.all(sql, columns)
    }
