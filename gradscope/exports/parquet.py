"""Writes operators as Parquet, a folder partitioned by rank, which DuckDB, polars, pandas, Spark and Ray read as one.

pyarrow writes it; it is an extra, and one sentence says so where it is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from gradscope.errors import UsageError
from gradscope.model.operation import Operation
from gradscope.store.reader import Recording

_ROWS = 200_000  # in memory at a time
COLUMNS = {
    "step": "int32",
    "position": "int32",
    "thread": "int16",
    "backward": "int32",
    "phase": "string",
    "operator": "string",
    "node": "string",
    "file": "string",
    "line": "int32",
    "module": "string",
    "grad": "bool",
}


def require_pyarrow() -> None:
    """Raises UsageError where pyarrow is not installed."""
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError:
        hint = "pip install 'gradscope-cli[parquet]'"
        raise UsageError("Parquet needs pyarrow, which is not installed", hint) from None


def write(recording: Recording, folder: Path, rank: int) -> int:
    """Write one recording as a partition. Returns how many operators it has."""
    import pyarrow
    import pyarrow.parquet

    place = folder / f"rank={rank}"
    place.mkdir(parents=True, exist_ok=True)
    types = {"bool": pyarrow.bool_(), "string": pyarrow.dictionary(pyarrow.int32(), pyarrow.string())}
    fields = [(name, types.get(kind) or getattr(pyarrow, kind)()) for name, kind in COLUMNS.items()]
    schema = pyarrow.schema(fields)
    rows, count = _rows(recording), 0
    with pyarrow.parquet.ParquetWriter(place / f"{recording.path.stem}.parquet", schema, compression="zstd") as writer:
        while batch := list(islice(rows, _ROWS)):
            columns = list(zip(*batch, strict=True))
            arrays = [pyarrow.array(column, type=kind) for column, (_, kind) in zip(columns, fields, strict=True)]
            writer.write_table(pyarrow.Table.from_arrays(arrays, schema=schema))
            count += len(batch)
    return count


def _rows(recording: Recording) -> Iterator[tuple[Any, ...]]:
    """A row for each operator, in the order of COLUMNS."""
    steps = {call.number: call.step for call in recording.backwards()}
    names = _names(recording)
    known: dict[int, tuple[Any, ...]] = {}  # operations are interned for as long as there are more of them
    step = position = 0
    for block in recording.blocks(versions=False):
        number = block.backward
        nodes = [] if number is None else names(number)
        phase = "forward" if number is None else "backward"
        here = step if number is None else steps.get(number, step)
        for one in block.operations:
            about = known.get(id(one)) or known.setdefault(id(one), _about(one))
            node = nodes[one.node] if one.node is not None and one.node < len(nodes) else None
            yield here, position, block.thread, number, phase, one.name, node, *about
            position += 1
        if number is not None:
            step = here + 1


def _about(one: Operation) -> tuple[str | None, int | None, str | None, bool]:
    """File, line, module and whether gradients were recorded."""
    site = one.site
    file, line = (None, None) if site is None else (site.file, site.line)
    return file, line, None if one.module is None else one.module.path, one.grad


def _names(recording: Recording) -> Callable[[int], list[str]]:
    """What tells the names of the nodes that a backward call reached."""
    graphs = {number: group[0] for group in recording.by_graph() for number in group}
    known: dict[int, list[str]] = {}

    def names(number: int) -> list[str]:
        graph = graphs.get(number)
        if graph is None:
            return []
        if graph not in known:
            known[graph] = [name for name, _ in recording.names(graph)]
        return known[graph]

    return names
