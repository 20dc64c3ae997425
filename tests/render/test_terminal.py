"""What a terminal lacks is written in what it has, and columns stay where they are."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO
from itertools import pairwise

import pytest
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text
from rich.tree import Tree

from gradscope.model.graph import Edge, Node
from gradscope.model.hook import Hook
from gradscope.model.module import ModuleCall
from gradscope.render import text
from gradscope.render.elide import end, middle
from gradscope.render.replay_text import step_lines
from gradscope.render.terminal import LIKENESS, encoded
from gradscope.render.wrap import breaks, cut
from gradscope.view.replay import Recorded, replay
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


@pytest.mark.parametrize("color", [False, True])
def test_what_repeats_has_one_line_of_a_narrow_terminal(color: bool) -> None:
    lines = text.render(by_hand.scene(by_hand.loop(40), width=60, color=color)).splitlines()
    (repeat,) = [Text.from_ansi(one).plain for one in lines if f"{TIMES} same step" in one]
    assert cell_len(repeat) == 60
    assert repeat.endswith("…")


@pytest.mark.parametrize("size", [7, 20, 33])
def test_lines_break_where_richs_do(size: int) -> None:
    said = "called at train.py:31,  took 12 ms; 名前 of a_name_that_is_wider_than_all_lines  and the rest"
    places = [0, *breaks(said, size), len(said)]
    words = [(said[:9], "bold"), (said[9:], "")]
    lines = ["".join(part for part, _ in cut(words, *ends, size)) for ends in pairwise(places)]
    assert lines == [line.plain for line in Text(said).wrap(Console(), size)]


def test_a_tree_has_lines_as_richs_has() -> None:
    tree = Tree("root")
    for branch in (tree.add("a"), tree.add("b\nmore")):
        branch.add("c").add("d")
        branch.add("e")
    drawn = StringIO()
    Console(width=80, file=drawn, color_system=None).print(tree)
    guides = list(text.guides([1, 2, 3, 2, 1, 2, 3, 2]))
    ours = ["root", *(left + name for (left, _), name in zip(guides, "acdebcde", strict=True))]
    ours.insert(6, guides[4][1] + "more")
    assert ours == [line.rstrip() for line in drawn.getvalue().splitlines()]


def test_a_replay_keeps_to_the_width_of_a_terminal() -> None:
    graph = by_hand.transformer(2)
    told = replay(Recorded(graph), by_hand.RUN, "run.gscope")
    lines = [line for step in told.steps for line in step_lines(told, step, color=False, width=60)]
    assert max(map(cell_len, lines)) <= 60
    assert [line for step in told.steps for line in step_lines(told, step, color=False)] != lines
