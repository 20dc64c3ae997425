"""Own and total time, by every place."""

from __future__ import annotations

from collections import Counter

import pytest

from gradscope.measures.times import Measured, operators_inside, times
from gradscope.model.operation import Block, Operation
from gradscope.model.statistics import NodeRun
from gradscope.model.table import Table, Value
from tests import by_hand

GRAPH = by_hand.small()


def call(*durations: float, nested: tuple[tuple[float, float], ...] = ()) -> Measured:
    """Nodes that ran one after the other."""
    runs = [NodeRun(node, node, 0, float(node), duration) for node, duration in enumerate(durations)]
    return Measured(tuple(runs), nested)


def column(table: Table, name: str) -> dict[Value, Value]:
    place = table.names.index(name)
    return {row[0]: row[place] for row in table.rows}


def test_the_slowest_stands_first() -> None:
    table = times(GRAPH, [call(0.1, 0.5, 0.2)], {}, "node")
    assert [row[0] for row in table.rows] == ["1 SwishBackward", "2 AddmmBackward0", "0 MeanBackward0"]


def test_several_calls_give_the_mean_of_one() -> None:
    table = times(GRAPH, [call(0.1), call(0.3)], {}, "op")
    assert column(table, "own")["MeanBackward0"] == pytest.approx(0.2)
    assert table.notes == ("mean of 2 backward calls with this graph",)


def test_a_node_does_not_own_the_time_of_a_backward_inside_it() -> None:
    table = times(GRAPH, [call(0.1, 0.9, nested=((1.2, 0.6),))], {}, "node")
    assert column(table, "own")["1 SwishBackward"] == pytest.approx(0.3)
    assert column(table, "total")["1 SwishBackward"] == pytest.approx(0.9)


def test_a_modules_total_has_the_modules_that_it_calls() -> None:
    table = times(GRAPH, [call(0.1, 0.5, 0.25)], {}, "module")
    assert column(table, "own")["Net"] == pytest.approx(0.5)
    assert column(table, "total")["Net"] == pytest.approx(0.75)


def test_accumulating_is_named_as_such() -> None:
    table = times(GRAPH, [call(0, 0, 0, 0.1)], {}, "line")
    assert "/project/train.py:20 (accumulating)" in column(table, "own")


def test_the_operators_inside_a_node_are_counted() -> None:
    operations = (
        Operation("aten.mm.default", (), node=2),
        Operation("aten.mm.default", (), node=2),
        Operation("x", ()),
    )
    inside = operators_inside([Block(0, operations, backward=4), Block(1, operations, backward=5)], 4)
    assert inside == {2: Counter({"aten.mm.default": 2})}
    assert column(times(GRAPH, [call(0, 0, 1)], inside, "node"), "operators")["2 AddmmBackward0"] == "mm 2"


@pytest.mark.parametrize("by", ["line", "module", "node", "op"])
def test_shares_add_up(by: str) -> None:
    table = times(GRAPH, [call(0.1, 0.2, 0.3, 0.4)], {}, by)
    assert sum(float(share) for share in column(table, "share").values() if share) == pytest.approx(1)
