"""Loops through time: the steps fold where gradients go from one to the next, and a step can be opened."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gradscope.graphs.fold import fold
from gradscope.graphs.loops import Loops
from gradscope.graphs.reduce import reduce
from gradscope.graphs.rules import Rules
from gradscope.graphs.tree import build
from gradscope.model.group import Repeat
from gradscope.model.reduced import PieceKind
from gradscope.view.rounds import round_words
from gradscope.view.words import TIMES
from tests import by_hand


def repeats(steps: int, step: int | None = None) -> list[Repeat]:
    graph = by_hand.loop(steps)
    tree = fold(build(graph), loops=Loops(graph.edges, step=step))
    return [child for child in tree.children if isinstance(child, Repeat)]


@pytest.mark.parametrize("steps", [5, 100, 1000])
def test_the_steps_of_a_loop_fold(steps: int) -> None:
    (repeat,) = repeats(steps)
    assert len(repeat.rounds) == steps
    assert {len(one) for one in repeat.rounds} == {3}


def test_three_steps_are_no_loop() -> None:
    assert repeats(3) == []


def test_what_does_not_lead_on_is_no_loop() -> None:
    graph = by_hand.fan(100)
    tree = fold(build(graph), loops=Loops(graph.edges))
    assert not any(isinstance(child, Repeat) for child in tree.children)


def test_nodes_of_other_lines_are_no_steps() -> None:
    graph = by_hand.chain(100)
    assert not any(isinstance(child, Repeat) for child in fold(build(graph), loops=Loops(graph.edges)).children)


def test_a_step_opens_by_its_number() -> None:
    before, after = repeats(100, step=40)
    assert (len(before.rounds), len(after.rounds), after.start) == (39, 60, 41)
    assert round_words(after).span.startswith("steps 42 … 99")


def test_the_words_say_how_many_and_where() -> None:
    (repeat,) = repeats(100)
    words = round_words(repeat, "/project")
    assert words.title == f"98{TIMES} same step"
    assert words.span == "steps 2 … 99, train.py:3-5"
    assert words.body == "TanhBackward0 → AddBackward0 → MmBackward0"


def test_a_picture_of_a_loop_is_small() -> None:
    reduced = reduce(by_hand.loop(1000), Rules())
    assert len(reduced.pieces) == 8
    (between,) = (piece for piece in reduced.pieces if piece.kind is PieceKind.REPEAT)
    assert len(between.nodes) == 3 * 998


def test_a_parameter_with_many_users_is_a_word_in_each() -> None:
    graph = by_hand.loop(100)
    reduced = reduce(graph, Rules())
    assert {leaf.leaf for piece in reduced.pieces for leaf in piece.chips} == {"W"}
    assert not any(node.accumulates for piece in reduced.pieces for node in piece.nodes)
    assert reduced.folded.chips == 1


def test_a_parameter_with_three_users_keeps_its_arrows() -> None:
    reduced = reduce(by_hand.loop(3), Rules())
    assert any(node.accumulates for piece in reduced.pieces for node in piece.nodes)


def test_its_arrows_are_there_on_request() -> None:
    reduced = reduce(by_hand.loop(5), replace(Rules(), params=True))
    assert sum(link.head == len(reduced.pieces) - 1 for link in reduced.links) >= 3
