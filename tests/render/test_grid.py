"""A grid looks as rich's tables do, and whatever is in it fits the page."""

from __future__ import annotations

import random

import pytest
from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from gradscope.render.grid import Head, lay_out

HEADS = (Head("place", words=True), Head("bytes", words=False), Head("in words", words=True))
ROWS = (("train.py:3", "12 B", "one"), ("幾個字.py:40", "4.1 MB", "two"), ("", "-", "é"))


def by_rich(width: int) -> list[str]:
    console = Console(width=width, color_system=None)
    grid = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for head in HEADS:
        grid.add_column(head.name, justify="left" if head.words else "right", overflow="fold")
    for row in ROWS:
        grid.add_row(*map(Text, row))
    with console.capture() as captured:
        console.print(grid)
    return [line.rstrip() for line in captured.get().splitlines()]


def test_what_fits_looks_as_rich_writes_it() -> None:
    assert list(lay_out(HEADS, ROWS, None, 80)) == by_rich(80)


def test_a_total_stands_below_a_rule() -> None:
    lines = list(lay_out(HEADS, ROWS, ("total", "4.1 MB", ""), 80))
    assert lines[-2] == lines[1]
    assert lines[-1].split() == ["total", "4.1", "MB"]


def test_only_the_heading_has_colour() -> None:
    first, *rest = lay_out(HEADS, ROWS, None, 80, color=True)
    assert first.startswith("\x1b[1m")
    assert not any("\x1b" in line for line in rest)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("width", [40, 80, 120])
def test_a_row_is_a_line_that_fits(seed: int, width: int) -> None:
    choose = random.Random(seed)
    rows = [tuple("".join(choose.choices("ab 幾é", k=choose.randrange(1, 60))) for _ in HEADS) for _ in range(20)]
    rows = [(f"{number} {last}"[:30], "7 B", last) for number, (_, _, last) in enumerate(rows)]
    lines = list(lay_out(HEADS, rows, None, width))
    assert max(map(cell_len, lines)) <= width
    assert len([line for line in lines if not line.startswith("not shown")]) == 2 + len(rows)


def test_names_are_elided_in_the_middle() -> None:
    head = [Head("node", words=True), Head("bytes", words=False)]
    lines = list(lay_out(head, [("AccumulateGrad of encoder.weight", "1,000,000")], None, 28))
    assert lines[-1].startswith("Accumula")
    assert "…" in lines[-1]
    assert lines[-1].endswith("1,000,000")


def test_rows_can_still_be_told_apart() -> None:
    names = [f"blocks.{number}.attention.project.weight" for number in range(9)]
    heads = [Head("parameter", words=True), *(Head(f"n{number}", words=False) for number in range(6))]
    lines = list(lay_out(heads, [(name, *["1,000,000"] * 6) for name in names], None, 60))
    assert len({line.split()[0] for line in lines[2:-1]}) == 9
    assert max(map(cell_len, lines)) <= 60


def test_numbers_are_whole_or_said_to_be_left_out() -> None:
    heads = [Head(f"n{number}", words=False) for number in range(9)]
    *_, row, said = lay_out(heads, [["1,000,000"] * 9], None, 40)
    assert row.split() == ["1,000,000"] * 3
    assert said == "not shown for want of room: n3, n4, n5, n6, n7, n8"


def test_columns_that_say_the_same_in_each_row_give_way_first() -> None:
    heads = [Head("name", words=True), Head("same", words=False), Head("each", words=False)]
    lines = list(lay_out(heads, [("a" * 12, "0" * 12, "1" * 12), ("b" * 12, "0" * 12, "2" * 12)], None, 30))
    assert lines[0].split() == ["name", "each"]
