"""What a terminal lacks is written in what it has, and columns stay where they are."""

from __future__ import annotations

import pytest

from gradscope.render.elide import end, middle
from gradscope.render.terminal import LIKENESS, encoded
from gradscope.view.words import TIMES


def test_ascii_has_branches_rules_and_arrows() -> None:
    assert encoded(f"├── a → b {TIMES}3 …", "ascii") == b"|-- a > b x3 ~"


def test_each_becomes_one_character() -> None:
    assert {len(letter) for letter in LIKENESS.values()} == {1}
    assert all(letter.isascii() for letter in LIKENESS.values())


def test_what_has_no_likeness_is_escaped() -> None:
    assert encoded("h\u00e9", "ascii") == b"h\\xe9"


def test_utf_8_stays_as_it_is() -> None:
    assert encoded("├─ é", "utf-8") == "├─ é".encode()


@pytest.mark.parametrize(("text", "size", "short"), [("AccumulateGrad", 12, "Accumu…eGrad"), ("short", 12, "short")])
def test_names_keep_both_ends(text: str, size: int, short: str) -> None:
    assert middle(text, size) == short


def test_lists_keep_their_beginning() -> None:
    assert end("mm 2, t 4, sum 1", 9) == "mm 2, t…"
