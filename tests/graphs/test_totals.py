"""What groups hold: all that stands in them, whatever is folded."""

from __future__ import annotations

from gradscope.graphs.fold import fold
from gradscope.graphs.totals import Counter
from gradscope.graphs.tree import build
from gradscope.model.graph import Node
from gradscope.model.group import Group, Totals
from gradscope.model.module import ModuleCall
from tests import by_hand


def test_storages_count_once_and_parameters_not_at_all() -> None:
    found = Counter().totals(build(by_hand.small()))
    assert found == Totals(nodes=7, parameters=2, saved_bytes=224, hooks=1, first=0, last=5)


def test_what_is_folded_counts() -> None:
    tree = build(by_hand.transformer())
    assert Counter().totals(fold(tree)) == Counter().totals(tree)


def test_a_group_inside_may_have_been_counted_before() -> None:
    tree = fold(build(by_hand.transformer()))
    counter = Counter()
    inner = [counter.totals(group) for group in _groups(tree)]
    assert sum(one.nodes for one in inner) == counter.totals(tree).nodes - sum(
        not isinstance(item, Group) for item in tree.children
    )
    assert counter.totals(tree) == Counter().totals(tree)


def test_nothing_that_ran() -> None:
    found = Counter().totals(Group("", "", (Node(0, "N", 1),)))
    assert (found.nodes, found.first, found.last) == (1, None, None)


def test_groups_nested_5000_deep() -> None:
    call = ModuleCall("", "Net")
    for number in range(5000):
        call = ModuleCall(str(number), "Deep", call)
    assert Counter().totals(build(by_hand.measured([Node(0, "N", 1, module=call)], []))).nodes == 1


def _groups(tree: Group) -> list[Group]:
    return [item for item in tree.children if isinstance(item, Group)]
