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
def test_what_does_not_fit_is_folded_and_nothing_is_lost(seed: int) -> None:
    choose = random.Random(seed)
    rows = [
        tuple("".join(choose.choices("ab 幾é", k=choose.randrange(1, 60))).strip() or "-" for _ in HEADS)
        for _ in range(20)
    ]
    rows = [(first, "7 B", last) for first, _, last in rows]
    lines = list(lay_out(HEADS, rows, None, 60))
    assert max(map(cell_len, lines)) <= 60
    letters = sorted("".join(lines[2:]).replace(" ", ""))
    assert letters == sorted("".join(map("".join, rows)).replace(" ", ""))


def test_numbers_are_never_folded() -> None:
    heads = [Head(f"n{number}", words=False) for number in range(9)]
    assert list(lay_out(heads, [["1,000,000"] * 9], None, 40))[-1].split() == ["1,000,000"] * 9
