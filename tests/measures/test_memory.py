"""Saved bytes: each storage once, leaves apart, what checkpointing frees, the peak."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gradscope.measures.memory import checkpointing, kept, memory
from gradscope.measures.peak import peak
from gradscope.model.graph import Edge, Graph, Node
from gradscope.model.module import ModuleCall
from gradscope.model.table import Table, Value
from gradscope.model.tensor import SavedTensor
from tests import by_hand

NET = ModuleCall("", "Net")
FIRST, SECOND = ModuleCall("first", "Linear", NET), ModuleCall("second", "Linear", NET, 1)


def saves(*storages: int, leaf: str | None = None, given: bool = False) -> tuple[SavedTensor, ...]:
    return tuple(SavedTensor("self", by_hand.floats(25), 100, storage, leaf, given) for storage in storages)


def graph() -> Graph:
    """Storage 0 is shared by two modules, 1 is the first's own, 2 is a parameter's, 3 an input that two nodes keep."""
    product = (*saves(0), *saves(3, given=True))
    nodes = [
        Node(0, "MulBackward0", 3, by_hand.line(3), module=SECOND, saved=product, inputs_meta=(by_hand.floats(10),)),
        Node(
            1, "TanhBackward0", 2, by_hand.line(2), module=FIRST, saved=saves(0, 1), inputs_meta=(by_hand.floats(10),)
        ),
        Node(
            2,
            "MmBackward0",
            1,
            by_hand.line(1),
            module=FIRST,
            saved=(*saves(2, leaf="w"), *saves(3, given=True)),
            inputs_meta=(by_hand.floats(5),),
        ),
    ]
    return by_hand.measured(nodes, [Edge(0, 1), Edge(1, 2)])


def column(table: Table, name: str) -> dict[Value, Value]:
    place = table.names.index(name)
    return {row[0]: row[place] for row in table.rows}


def test_a_storage_is_counted_once() -> None:
    assert kept(graph()) == 200


@pytest.mark.parametrize("by", ["line", "module", "node", "op", "param"])
def test_every_grouping_adds_up_to_the_same(by: str) -> None:
    assert sum(int(value or 0) for value in column(memory(graph(), by), "activations").values()) == 200


def test_a_shared_storage_counts_where_it_is_let_go_last() -> None:
    table = memory(graph(), "module")
    assert column(table, "activations") == {"second": 0, "first": 200}
    assert column(table, "shared") == {"second": 200, "first": 0}


def test_parameters_and_inputs_stand_apart() -> None:
    table = memory(graph(), "op")
    assert column(table, "parameters") == {"MulBackward0": 0, "TanhBackward0": 0, "MmBackward0": 100}
    assert column(table, "inputs") == {"MulBackward0": 0, "TanhBackward0": 0, "MmBackward0": 100}
    assert table.total == ("total", 200, None, 100, 100, 6)


def test_what_a_parameters_nodes_keep_is_its_own() -> None:
    assert column(memory(graph(), "param"), "parameters") == {"(no parameter)": 0, "w": 100}


def test_checkpointing_frees_what_a_module_alone_keeps() -> None:
    table = checkpointing(graph())
    assert column(table, "frees") == {"Net": 200, "first": 100, "second": 0}
    assert column(table, "keeps")["first"] == 100


def test_the_peak_is_at_the_start_when_nothing_grows() -> None:
    highest = peak(graph())
    assert (highest.node, highest.saved, highest.gradients) == (0, 200, 40)


def test_a_kept_graph_frees_nothing_on_the_way() -> None:
    nodes = [replace(node, inputs_meta=(by_hand.floats(2**node.id),)) for node in graph().nodes]
    freed = peak(by_hand.measured(nodes, [Edge(0, 1), Edge(1, 2)]))
    held = peak(by_hand.measured(nodes, [Edge(0, 1), Edge(1, 2)], keep_graph=True))
    assert (freed.node, freed.bytes, held.node, held.bytes) == (1, 208, 2, 216)
