"""What a page holds: columns, groups, backward calls, findings; as plain values."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from itertools import accumulate
from typing import Any

import pytest

from gradscope.graphs.rules import MOST_CHILDREN
from gradscope.model.finding import Finding, Related, Severity
from gradscope.model.graph import Graph
from gradscope.model.module import ModuleCall
from gradscope.model.site import Site
from gradscope.model.statistics import GradientStatistics, NodeRun
from gradscope.view.page import contents
from gradscope.view.page_graph import PARTS, REPEAT
from gradscope.view.replay import Recorded
from gradscope.view.story import Story, story_of
from gradscope.view.words import TIMES
from tests import by_hand


def page(graph: Graph) -> dict[str, Any]:
    return contents(story_of(by_hand.scene(graph)))


def story(*recorded: Recorded, **about: Any) -> Story:
    return Story(recorded, recorded[-1].graph.backward.number, by_hand.RUN, "a.gscope", **about)


def numbered(graph: Graph, number: int) -> Graph:
    return replace(graph, backward=replace(graph.backward, number=number))


def texts(found: dict[str, Any], numbers: list[int]) -> list[str]:
    return [found["strings"][number] for number in numbers]


def test_nodes_stand_in_columns() -> None:
    graph = by_hand.small()
    found = page(graph)
    (columns,) = found["graphs"]
    assert texts(found, columns["name"]) == [node.name.rpartition("::")[2] for node in graph.nodes]
    assert list(accumulate(columns["seq"])) == [-1 if node.seq_nr is None else node.seq_nr for node in graph.nodes]
    assert texts(found, columns["leaf"]) == [node.leaf or "" for node in graph.nodes]
    sources = list(accumulate(columns["source"]))
    targets = [source + away for source, away in zip(sources, columns["target"], strict=True)]
    assert list(zip(sources, targets, strict=True)) == [(edge.source, edge.target) for edge in graph.edges]


def test_what_repeats_stands_once() -> None:
    found = page(by_hand.transformer())
    assert len(set(found["strings"])) == len(found["strings"])
    assert len(json.dumps(found)) < 150 * 1567


def test_a_stack_reads_from_the_inside_out() -> None:
    graph = by_hand.small()
    found = page(graph)
    number = found["graphs"][0]["stack"][0]
    lines = []
    while number:
        frame, number = found["stacks"][number]
        lines.append(found["frames"][frame][1])
    assert lines == [site.line for site in graph.nodes[0].stack]


def test_repeats_share_a_group_between_the_first_and_the_last() -> None:
    found = page(by_hand.transformer(24))
    groups = found["graphs"][0]["groups"]
    (repeat,) = [place for place, row in enumerate(groups) if row[3] == REPEAT]
    assert found["strings"][groups[repeat][0]].startswith(f"22{TIMES} same Block")
    assert sum(row[2] == repeat for row in groups) == 22
    assert all(row[2] < place for place, row in enumerate(groups) if place)


@pytest.mark.parametrize("length", [MOST_CHILDREN, MOST_CHILDREN + 1, 6 * MOST_CHILDREN])
def test_groups_stay_small(length: int) -> None:
    (columns,) = page(by_hand.chain(length))["graphs"]
    children = Counter([*accumulate(columns["group"]), *(row[2] for row in columns["groups"][1:])])
    assert max(children.values()) <= MOST_CHILDREN
    assert any(row[3] == PARTS for row in columns["groups"]) == (length > MOST_CHILDREN)


def test_many_nodes_between_calls_share_groups() -> None:
    """As an inner loop that updates its weights by hand makes them."""
    graph = by_hand.chain(200)
    net = ModuleCall("", "Net")
    nodes = tuple(replace(node, module=net) if 90 <= node.id < 110 else node for node in graph.nodes)
    found = page(replace(graph, nodes=nodes))
    rows = found["graphs"][0]["groups"]
    names = texts(found, [row[0] for row in rows])
    assert sorted(name.partition(":")[0] for name in names) == ["", "90 nodes", "90 nodes", "Net"]
    assert [row[2] for row in rows] == [0, 0, 0, 0]


def test_calls_of_one_graph_share_it() -> None:
    graph = by_hand.small()
    calls = [Recorded(numbered(graph, number)) for number in range(3)]
    found = contents(story(*calls, alike=(0, 0, 0)))
    assert len(found["graphs"]) == 1
    assert [row["number"] for row in found["backwards"]] == [0, 1, 2]
    assert len({row["order"] for row in found["backwards"]}) == 1
    assert len(contents(story(*calls, alike=(0, 1, 0)))["graphs"]) == 2


def test_measurements_are_kept_to_four_digits() -> None:
    runs = (NodeRun(0, 0, 0, 0.0, 0.00012), NodeRun(1, 1, 0, 0.0, 0.5))
    gradients = (
        GradientStatistics(1, "in", 0, 1.23456789, 1.0, 0.5, 0, 0),
        GradientStatistics(1, "out", 1, float("nan"), float("inf"), 0, 3, 1),
    )
    (row,) = contents(story(Recorded(by_hand.small(), runs, gradients)))["backwards"]
    assert row["times"][:2] == [120, 500_000]
    assert row["gradients"]["norm"] == [1.235, "nan"]
    assert row["gradients"]["max"] == [1.0, "inf"]
    assert row["gradients"]["node"] == [1, 0]
    json.dumps(row, allow_nan=False)


def test_a_gradient_without_finite_values_has_no_norm() -> None:
    gradients = (
        GradientStatistics(1, "in", 0, 0.0, 0.0, 0.0, 1, 2),
        GradientStatistics(2, "in", 0, 0.0, 0.0, 1.0, 0, 0),
    )
    (row,) = contents(story(Recorded(by_hand.small(), gradients=gradients)))["backwards"]
    assert row["gradients"]["norm"] == row["gradients"]["max"] == [None, 0.0]


def test_operators_stand_with_their_node() -> None:
    recorded = Recorded(
        by_hand.small(), operators=((2, "aten.mm"), (2, "aten.mm"), (None, "aten.add"), (3, "aten.sum"))
    )
    found = contents(story(recorded))
    ran = found["lists"][found["backwards"][0]["operators"]]
    mm, times = found["lists"][ran[2]]
    assert (found["strings"][mm], times) == ("aten.mm", 2)
    assert found["lists"][ran[0]] == ()


def test_hooks_stand_in_firing_order() -> None:
    found = page(by_hand.small())
    ((hook, node, change, by_rule, *_),) = found["backwards"][0]["fired"]
    assert (hook, node, by_rule) == (0, 0, 0)
    assert texts(found, [change]) == ["gave another tensor"]
    number, _, name, on, _ = found["hooks"][0]
    assert number == 0
    assert texts(found, [name, on]) == ["main.<locals>.clip", "loss"]


def test_a_finding_points_at_a_node_that_the_page_holds() -> None:
    site = Site("/project/train.py", 18)
    finding = Finding("GS701", "inplace", Severity.ERROR, "edited", "do not", site, (Related("saved_at", site),), 6)
    here, gone, wild = (replace(finding, backward=number, node=node) for number, node in ((0, 6), (7, 6), (0, 999)))
    found = contents(story(Recorded(by_hand.small()), findings=(here, gone, wild)))
    assert [one["node"] for one in found["findings"]] == [6, None, None]
    assert found["frames"][found["findings"][0]["frame"]][1] == 18


def test_sources_are_there_only_when_given() -> None:
    assert page(by_hand.small())["sources"] == []
    found = contents(story(Recorded(by_hand.small()), sources={"/project/train.py": "a\tb\x1b\nc"}))
    ((file, text),) = found["sources"]
    assert found["strings"][file] == "/project/train.py"
    assert text == "a   b\\x1b\nc"


def test_nothing_in_it_acts_on_a_screen() -> None:
    text = json.dumps(page(by_hand.hostile()), ensure_ascii=False)
    assert not any(character in text for character in "\x1b\x07\x00\u202e")
