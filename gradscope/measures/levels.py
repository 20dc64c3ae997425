"""The torch.func transforms of a run: which call pushed each, what ran under it, and what escaped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from gradscope.graphs.transforms import Under, is_for_a_rule, transforms
from gradscope.measures.let_out import Source, let_out
from gradscope.measures.places import single
from gradscope.model.graph import Graph
from gradscope.model.operation import Block
from gradscope.model.table import Column, Table, Unit
from gradscope.model.transform import Escaped, Transform

Key = tuple[tuple[str, str | None], ...]
Row = tuple[str, int, str | None, int | None, str | None, Key | None]
PLAIN = "(no transform)"
_NOT_FOUND = "let out -: no line of the recorded source puts something under that name, only the making line is known"


@dataclass(slots=True)
class Inside:
    """What ran directly under one stack of transforms."""

    nodes: int = 0
    operators: int = 0
    functions: Counter[str] = field(default_factory=Counter)

    @property
    def counts(self) -> tuple[int, int, str | None]:
        """Nodes, operators, and the names of the custom Functions."""
        return self.nodes, self.operators, ", ".join(sorted(self.functions)) or None


def key_of(under: tuple[Under, ...]) -> Key:
    """What tells one stack of transforms from another."""
    return tuple((one.kind, None if one.site is None else str(one.site)) for one in under)


def inside(graphs: Iterable[Graph], blocks: Iterable[Block]) -> dict[Key, Inside]:
    """Nodes and operators by the transforms that they ran under."""
    found: dict[Key, Inside] = {}
    known: dict[int, Key] = {}  # stacks are shared between nodes, and steps repeat
    for graph in graphs:
        for node in graph.nodes:
            each = found.setdefault(_key(known, node.stack), Inside())
            each.nodes += 1
            if node.function is not None:
                each.functions[node.function.name] += 1
    for block in blocks:
        for operation in block.operations:
            found.setdefault(_key(known, operation.stack), Inside()).operators += 1
    return found


def _key(known: dict[int, Key], stack: tuple[object, ...]) -> Key:
    found = known.get(id(stack))
    if found is None:
        found = known[id(stack)] = key_of(transforms(stack))  # type: ignore[arg-type]
    return found


def levels(pushed: tuple[Transform, ...], ran: dict[Key, Inside]) -> Table:
    """One row for each transform, inner ones indented under those around them."""
    columns = (
        Column("transform", help="what was called, inner ones indented"),
        Column("level", Unit.COUNT, "torch's number of it"),
        Column("called", Unit.PLACE, "the line that called it"),
        Column("batch", Unit.COUNT, "the batch size of a vmap"),
        Column("randomness", help="what a vmap does with random operators"),
        Column("calls", Unit.COUNT, "how often"),
        Column("nodes", Unit.COUNT, "nodes built under it and no inner one, in the distinct graphs"),
        Column("operators", Unit.COUNT, "operators that ran under it and no inner one"),
        Column("functions", help="custom autograd.Functions among the nodes"),
    )
    calls: Counter[Row] = Counter()
    for one in _in_order(pushed):
        under = transforms(one.stack)
        known = bool(under) and under[-1].kind == one.kind
        name = "  " * (len(under) - 1) + (under[-1].name if known else one.kind.lower())
        row = (name, one.level, _line(one), one.batch_size, one.randomness, key_of(under) if known else None)
        calls[row] += one.calls
    seen: set[Key | None] = {None}
    rows = []
    for row, count in calls.items():
        key = row[-1]
        content = ran.get(key, Inside()) if key is not None and key not in seen else None
        seen.add(key)
        rows.append((*row[:-1], count, *((None, None, None) if content is None else content.counts)))
    return Table("levels", columns, tuple(rows))


def _in_order(pushed: tuple[Transform, ...]) -> list[Transform]:
    """Each transform followed by those inside it. Those of a generated vmap rule are no other."""
    found: list[Transform] = []

    def visit(outer: int | None) -> None:
        for one in pushed:
            if one.outer == outer:
                found.extend(() if is_for_a_rule(one.stack) else (one,))
                visit(one.number)

    visit(None)
    return found


def escapes(escaped: tuple[Escaped, ...], pushed: tuple[Transform, ...], source: Source) -> Table:
    """The tensors that outlived their transform. `source` gives the text of a file, None when it is not recorded."""
    calls = {one.number: one for one in pushed}
    columns = (
        Column("kept as", help="the name under which the script keeps it"),
        Column("made", Unit.PLACE, "the line that made it"),
        Column("let out", Unit.PLACE, "the line that stored it there, as the source has it"),
        Column("transform", Unit.PLACE, "the call that it escaped from"),
    )
    rows = [
        (one.name, _line(one), let_out(one, calls[one.transform], source), _line(calls[one.transform]))
        for one in escaped
        if one.transform in calls
    ]
    unknown = any(row[2] is None for row in rows)
    return Table("escaped", columns, tuple(rows), (_NOT_FOUND,) if unknown else ())


def of_nodes(graph: Graph) -> Table:
    """The transforms of every node of one graph."""
    columns = (
        Column("node"),
        Column("line", Unit.PLACE),
        Column("own level", Unit.COUNT, "the level that the node belongs to, 0 for none"),
        Column("transforms", help="what it ran under, outermost first"),
    )
    rows = [
        (
            single(node),
            None if node.site is None else str(node.site),
            node.levels[-1].number if node.levels else 0,
            " > ".join(one.name for one in transforms(node.stack)) or PLAIN,
        )
        for node in graph.nodes
    ]
    return Table("nodes", columns, tuple(rows))


def _line(one: Escaped | Transform) -> str | None:
    return None if one.site is None else str(one.site)
