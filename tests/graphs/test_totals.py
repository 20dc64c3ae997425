"""What groups hold: all that stands in them, whatever is folded."""

from __future__ import annotations

from gradscope.graphs.fold import fold
from gradscope.graphs.totals import Holdings
from gradscope.graphs.tree import build
from gradscope.model.graph import Node
from gradscope.model.group import Group, Totals
from gradscope.model.module import ModuleCall
from tests import by_hand


def test_storages_count_once_and_parameters_not_at_all() -> None:
    found = held(build(by_hand.small()))
    assert found == Totals(nodes=7, parameters=2, saved_bytes=224, hooks=1, first=0, last=5)


def test_what_is_folded_counts() -> None:
    tree = build(by_hand.transformer())
    assert held(fold(tree)) == held(tree)


def test_each_group_inside_holds_its_part() -> None:
    tree = fold(build(by_hand.transformer()))
    groups = [item for item in tree.children if isinstance(item, Group)]
    assert groups
    holdings = Holdings(tree)
    assert [holdings.totals(group) for group in groups] == [held(group) for group in groups]


def test_what_did_not_run_has_no_place() -> None:
    found = held(Group("", "", (Node(0, "N", 1),)))
    assert (found.nodes, found.first, found.last) == (1, None, None)


def test_groups_nested_5000_deep() -> None:
    call = ModuleCall("", "Net")
    for number in range(5000):
        call = ModuleCall(str(number), "Deep", call)
    assert held(build(by_hand.measured([Node(0, "N", 1, module=call)], []))).nodes == 1


def held(tree: Group) -> Totals:
    return Holdings(tree).totals(tree)
