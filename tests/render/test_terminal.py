"""What a terminal lacks is written in what it has, and columns stay where they are."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gradscope.model.graph import Edge, Node
from gradscope.model.hook import Hook
from gradscope.model.module import ModuleCall
from gradscope.render import text
from gradscope.render.elide import end, middle
from gradscope.render.terminal import LIKENESS, encoded
from gradscope.view.words import TIMES
from tests import by_hand


def test_ascii_has_branches_rules_and_arrows() -> None:
    assert encoded(f"├── a → b {TIMES}3 …", "ascii") == b"|-- a > b x3 ~"


def test_each_becomes_one_character() -> None:
    assert {len(letter) for letter in LIKENESS.values()} == {1}
    assert all(letter.isascii() for letter in LIKENESS.values())


def test_what_has_no_likeness_is_escaped() -> None:
    assert encoded("h\u00e9", "ascii") == b"h\\xe9"


def test_utf_8_stays_as_it_is() -> None:
    assert encoded("├─ é", "utf-8") == "├─ é".encode()


@pytest.mark.parametrize(("name", "size", "short"), [("AccumulateGrad", 12, "Accumu…eGrad"), ("short", 12, "short")])
def test_names_keep_both_ends(name: str, size: int, short: str) -> None:
    assert middle(name, size) == short


def test_lists_keep_their_beginning() -> None:
    assert end("mm 2, t 4, sum 1", 9) == "mm 2, t…"


def test_a_parameter_deep_inside_has_one_line_of_eighty_cells() -> None:
    net = ModuleCall("", "Net")
    block = ModuleCall("blocks.2", "Block", net)
    linear = ModuleCall("blocks.2.b", "Linear", block)
    hook = Hook(0, "tensor", "clip", "weight", by_hand.line(35, "main"))
    leaf = Node(1, "AccumulateGrad", None, by_hand.line(16), module=linear, leaf="blocks.2.b.weight", hooks=(hook,))
    nodes = [
        Node(0, "AddmmBackward0", 1, by_hand.line(16), module=linear),
        replace(leaf, inputs_meta=(by_hand.floats(8, 8),)),
    ]
    graph = by_hand.measured(nodes, [Edge(0, 1)])
    (line,) = [one for one in text.render(by_hand.scene(graph, width=80)).splitlines() if "Grad" in one]
    assert len(line) <= 80
    assert line.endswith("1 hook  train.py:16")
