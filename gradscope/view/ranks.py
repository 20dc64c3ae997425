"""The table of ranks: how each ended, and where it is or was."""

from __future__ import annotations

from gradscope.model.rank import Rank
from gradscope.model.table import Column, Row, Table, Unit

_COLUMNS = (
    Column("rank", Unit.COUNT, "its number"),
    Column("state", help="how it ended"),
    Column("seconds", Unit.SECONDS, "how long it ran"),
    Column("backward", Unit.COUNT, "backward calls that it began"),
    Column("collectives", Unit.COUNT, "that it entered, without those between two ranks"),
    Column("last collective", help="the last one that it entered"),
    Column("last operator", help="the last one that it began"),
    Column("line", Unit.PLACE, "where it stands: where it raised, where it waits, else where it was last seen"),
)


def table(ranks: list[Rank]) -> Table:
    """A row for each rank."""
    return Table("ranks", _COLUMNS, tuple(map(_row, ranks)))


def _row(one: Rank) -> Row:
    return (
        one.rank,
        f"waits in {one.collective.name}" if one.waits and one.collective else one.state.value,
        one.seconds,
        one.backwards,
        one.collectives,
        None if one.collective is None else one.collective.words,
        one.last,
        None if one.place is None else str(one.place),
    )
