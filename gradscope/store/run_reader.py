"""Reads what a recording says as a whole: the run, its totals, its faults. Totals come from SQL sums over the
interned tables, never from walking the operators."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from gradscope.model.failure import Failure, MissingGrad
from gradscope.model.run import Census, Fault, Run
from gradscope.model.site import user_site
from gradscope.store.interned import Interned
from gradscope.store.rows import INTEGER, MAYBE, REAL, TEXT, Rows, finite

if TYPE_CHECKING:
    from gradscope.model.summary import Calls
    from gradscope.model.torch_part import Lack

# The types of Run's fields in the `run` table; those without a default in Run must be there.
RUN_FIELDS: dict[str, tuple[type, ...]] = {
    "argv": (list,),
    "cwd": (str,),
    "gradscope": (str,),
    "torch": (str,),
    "python": (str,),
    "platform": (str,),
    "pid": (int,),
    "process": (str, type(None)),
    "optimizer_steps_before": (dict,),
    "detail": (str,),
    "started": (int, float),
    "duration": (int, float),
    "ended": (bool,),
    "status": (int, type(None)),
    "exception": (str, type(None)),
    "stopped": (str, type(None)),
    "rank": (int, type(None)),
    "world_size": (int, type(None)),
    "environment": (dict,),
    "lacks": (list,),
    "switches": (dict,),
    "steps_before": (int,),
    "trigger": (str,),
}
CALLS = """SELECT min(b.number), max(b.number), count(*), b.kind, count(DISTINCT b.graph),
  coalesce(min(g.nodes), 0), coalesce(max(g.nodes), 0), coalesce(min(g.edges), 0), coalesce(max(g.edges), 0),
  coalesce(min(t.saved_bytes), 0), coalesce(max(t.saved_bytes), 0), coalesce(sum(b.duration), 0.0),
  b.stack, b.exception, b.nested_in IS NOT NULL AS nested, b.create_graph, b.graph IS NULL AS cut
  FROM backward b LEFT JOIN graph g ON g.id = b.graph LEFT JOIN tensors t ON t.id = b.tensors"""
CALLS_COLUMNS = (*(INTEGER,) * 3, TEXT, *(INTEGER,) * 7, REAL, *(INTEGER,) * 5)
CALLS_ALIKE = "b.kind, b.stack, b.exception, nested, b.create_graph, cut"


def read_run(rows: Rows) -> Run:
    """The run. Fields this version does not know are ignored."""
    names, texts = rows.columns("SELECT name, value FROM run", (TEXT, TEXT))
    stored = dict(zip(names, json.loads(f"[{','.join(texts)}]"), strict=True))  # at once: a call is dearer than a value
    values: dict[str, Any] = {}
    for name, types in RUN_FIELDS.items():
        if name not in stored:
            continue
        if type(stored[name]) not in types:
            raise ValueError(f"the run's {name} has the wrong type")
        values[name] = finite(stored[name]) if name in ("started", "duration") else stored[name]
    if not values.get("ended"):  # the run had no time to say how long it took
        latest = "SELECT max(started + coalesce(duration, 0.0)) FROM backward"
        (seen,) = rows.one(latest, (REAL | MAYBE,))
        values["duration"] = max(values.get("duration", 0.0), finite(seen or 0.0))
    return Run(**_texts(values))


def _texts(values: dict[str, Any]) -> dict[str, Any]:
    """Check what is inside the containers."""
    argv, environment, switches = values.get("argv", []), values.get("environment", {}), values.get("switches", {})
    if not all(isinstance(text, str) for text in (*argv, *environment.values(), *switches.values())):
        raise ValueError("the run's arguments, environment and switches must be texts")
    if not all(type(count) is int for count in values.get("optimizer_steps_before", {}).values()):
        raise ValueError("how often optimizers stepped must be told in numbers")
    lacks = tuple(_lack(stored) for stored in values.get("lacks", ()))
    return {**values, "lacks": lacks, **({"argv": tuple(argv)} if "argv" in values else {})}


def _lack(stored: Any) -> Lack:
    from gradscope.model.torch_part import Lack

    names = Lack.__slots__
    if not isinstance(stored, dict) or not all(isinstance(stored.get(name), str) for name in names):
        raise ValueError("what the run did without must be told in texts")
    return Lack(*(stored[name] for name in names))


def read_faults(rows: Rows) -> tuple[Fault, ...]:
    """What went wrong inside gradscope, most frequent first."""
    sql = "SELECT probe, message, count FROM fault ORDER BY count DESC, probe, message"
    return tuple(Fault(*row) for row in rows.select(sql, (TEXT, TEXT, INTEGER)))


def read_missing_grads(rows: Rows, interned: Interned) -> tuple[MissingGrad, ...]:
    """The tensors whose .grad was None where the program failed for that, in order."""
    sql = "SELECT name, tensor, leaf, requires_grad, made, stack FROM missing_grad ORDER BY rowid"
    return tuple(
        MissingGrad(
            interned.string(name), tensor, bool(leaf), bool(requires_grad), interned.stack(made), interned.stack(stack)
        )
        for name, tensor, leaf, requires_grad, made, stack in rows.select(sql, (INTEGER,) * 6)
    )


def read_failures(rows: Rows, interned: Interned) -> tuple[Failure, ...]:
    """The exceptions that nobody caught, in order."""
    sql = "SELECT kind, message, stack, thread, backward FROM failure ORDER BY rowid"
    found = rows.select(sql, (*(INTEGER,) * 4, INTEGER | MAYBE))
    return tuple(
        Failure(interned.string(kind), interned.string(message), interned.stack(stack), thread, backward)
        for kind, message, stack, thread, backward in found
    )


def read_calls(rows: Rows, interned: Interned, alike: bool) -> tuple[Calls, ...]:
    """The backward calls in short, one by one or with those that are alike together."""
    found = rows.select(f"{CALLS} GROUP BY {CALLS_ALIKE if alike else 'b.number'} ORDER BY 1", CALLS_COLUMNS)
    return tuple(_calls(interned, row) for row in found)


def _calls(interned: Interned, row: tuple[Any, ...]) -> Calls:
    from gradscope.model.summary import Calls

    first, last, count, kind, graphs, *sizes, seconds, stack, exception, nested, create_graph, _ = row
    least_nodes, most_nodes, least_edges, most_edges, least_saved, most_saved = sizes
    return Calls(
        first=first,
        last=last,
        count=count,
        kind=kind,
        graphs=graphs,
        nodes=(least_nodes, most_nodes),
        edges=(least_edges, most_edges),
        saved_bytes=(least_saved, most_saved),
        seconds=finite(seconds),
        site=user_site(interned.stack(stack)),
        exception=interned.name(exception),
        nested=bool(nested),
        create_graph=bool(create_graph),
    )


def read_census(rows: Rows, interned: Interned, size: int) -> Census:
    """How much of everything there is; `size` is the file's."""
    of_graphs = "backward b JOIN graph g ON g.id = b.graph"
    of_blocks = "block_run r JOIN block b ON b.id = r.block"
    saved = "SELECT tensors, count(*) AS kept FROM saved GROUP BY tensors"
    threads = "SELECT thread FROM backward UNION SELECT thread FROM block_run UNION SELECT thread FROM node"
    levels = {interned.levels(number) for (number,) in rows.select("SELECT DISTINCT levels FROM node", (INTEGER,))}
    among = "SELECT count(DISTINCT step), min(step), max(step) FROM backward"
    steps, first_step, last_step = rows.one(among, (INTEGER, INTEGER | MAYBE, INTEGER | MAYBE))
    return Census(
        backwards=rows.number("SELECT count(*) FROM backward"),
        graphs=rows.number("SELECT count(*) FROM graph"),
        nodes=rows.number(f"SELECT sum(g.nodes) FROM {of_graphs}"),
        edges=rows.number(f"SELECT sum(g.edges) FROM {of_graphs}"),
        operations=rows.number(f"SELECT sum(b.operations) FROM {of_blocks}"),
        repeated=rows.number(f"SELECT sum(b.operations) FROM {of_blocks} WHERE NOT r.watched"),
        mutations=rows.number(f"SELECT sum(b.writes) FROM {of_blocks}"),
        saved=rows.number(f"SELECT sum(s.kept) FROM backward b JOIN ({saved}) s ON s.tensors = b.tensors"),
        hooks=rows.number("SELECT count(*) FROM hook"),
        firings=rows.number("SELECT count(*) FROM firing"),
        threads=rows.number(f"SELECT count(*) FROM ({threads})"),
        levels=tuple(sorted(" ".join(map(str, chain)) for chain in levels if chain)),
        bytes=size,
        dropped=dict(rows.select("SELECT reason, count FROM dropped ORDER BY reason", (TEXT, INTEGER))),
        steps=steps,
        first_step=first_step,
        last_step=last_step,
    )
