"""Writes operators as Parquet, a folder partitioned by rank, which DuckDB, polars, pandas, Spark and Ray read as one.

pyarrow writes it; it is an extra, and one sentence says so where it is missing.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gradscope.errors import UsageError
from gradscope.exports.columns import Columns
from gradscope.store.reader import Recording

if TYPE_CHECKING:
    import pyarrow

_ROWS = 200_000  # in memory at a time, and those of one stretch
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
    schema, count = pyarrow.schema(fields), 0
    with pyarrow.parquet.ParquetWriter(place / f"{recording.path.stem}.parquet", schema, compression="zstd") as writer:
        for columns in _columns(recording):
            writer.write_table(pyarrow.Table.from_arrays(_arrays(columns, schema), schema=schema))
            count += len(columns)
    return count


def _columns(recording: Recording) -> Iterator[Columns]:
    """The operators, as many at a time as are written together."""
    columns = Columns(recording)
    for block in recording.blocks():
        columns.add(block)
        if len(columns) >= _ROWS:
            yield columns
            columns.clear()
    if len(columns):
        yield columns


def _arrays(columns: Columns, schema: pyarrow.Schema) -> list[pyarrow.Array]:
    """The columns, in the order of COLUMNS. What operations that are equal share is looked up by pyarrow."""
    import pyarrow

    found: dict[str, Any] = {name: pyarrow.array(values) for name, values in columns.by_row.items()}
    codes = pyarrow.array(columns.codes, type=pyarrow.int32())
    for name, values in columns.by_code.items():
        found[name] = pyarrow.array(values, type=_stored(schema.field(name).type)).take(codes)
    return [_as(field, found[field.name], columns) for field in schema]


def _stored(kind: pyarrow.DataType) -> pyarrow.DataType:
    """Of texts the numbers."""
    import pyarrow

    return kind.index_type if pyarrow.types.is_dictionary(kind) else kind


def _as(field: pyarrow.Field, values: pyarrow.Array, columns: Columns) -> pyarrow.Array:
    import pyarrow

    if not pyarrow.types.is_dictionary(field.type):
        return values.cast(field.type)
    words = pyarrow.array(columns.words[field.name], type=field.type.value_type)
    return pyarrow.DictionaryArray.from_arrays(values.cast(field.type.index_type), words)
