"""Outlines fit on a page, and what matters keeps a line of its own."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gradscope.graphs.rules import Rules
from gradscope.model.finding import Finding, Severity
from gradscope.model.graph import Edge, FunctionClass, Graph, Node, Root
from gradscope.model.hook import Hook
from gradscope.model.statistics import GradientStatistics
from gradscope.view.line import Line
from gradscope.view.outline import PAGE, outline
from gradscope.view.scene import Show
from gradscope.view.words import TIMES
from tests import by_hand


def words(line: Line) -> str:
    return "  ".join(part.text for part in line.parts)


def text(graph: Graph, depth: int | None = None) -> list[str]:
    return [words(line) for line in outline(by_hand.scene(graph, depth=depth))]


@pytest.mark.parametrize(
    "graph", [by_hand.small(), by_hand.transformer(), by_hand.transformer(96), by_hand.chain(10_000)]
)
def test_an_outline_fits_on_a_page(graph: Graph) -> None:
    assert 0 < len(text(graph)) <= PAGE


def test_small_graphs_show_every_node() -> None:
    assert len(text(by_hand.chain(60))) == 60


def test_long_runs_share_a_line() -> None:
    assert text(by_hand.chain(301)) == [
        "#0  MulBackward0  train.py:3",
        f"#1-300  AddBackward0 {TIMES}100 → SinBackward0 {TIMES}100 → MulBackward0 {TIMES}100",
    ]


def test_depth_is_kept() -> None:
    lines = outline(by_hand.scene(by_hand.transformer(), depth=2))
    assert max(line.depth for line in lines) == 2
    assert [words(line) for line in lines][-2:] == [
        "h.0  Block  #1500-1564  65 nodes  12 params  saves 184 kB",
        "wte  Embedding  #1565-1566  2 nodes  1 param  saves 256 B",
    ]


def test_hooked_and_custom_nodes_are_not_folded_into_a_run() -> None:
    graph = by_hand.chain(300)
    nodes = list(graph.nodes)
    nodes[100] = replace(nodes[100], hooks=(Hook(0, "tensor", "f", "x"),))
    nodes[200] = replace(nodes[200], function=FunctionClass("Swish"))
    lines = text(replace(graph, nodes=tuple(nodes)))
    assert len(lines) == 6
    assert "1 hook" in lines[2]
    assert lines[4].startswith("#200")


def test_what_must_show_is_in_no_run() -> None:
    lines = outline(by_hand.scene(by_hand.chain(300), rules=Rules(keep=frozenset({150}))))
    assert [words(line).split()[0] for line in lines] == ["#0", "#1-149", "#150", "#151-299"]


def test_no_fold_has_a_line_for_every_node() -> None:
    lines = outline(by_hand.scene(by_hand.transformer(), rules=Rules(fold=False)))
    assert sum(words(line).startswith("#") for line in lines) == 1567


def test_a_node_says_what_it_is() -> None:
    lines = text(by_hand.small())
    assert "#0  MeanBackward0  float32[]  1 hook  train.py:30  in lib/loss.py:7" in lines
    assert "#1  SwishBackward  float32[8, 4]  saves 128 B  class at swish.py:5  train.py:21" in lines
    assert "#5  AccumulateGrad  linear.weight  float32[4, 3]  train.py:20" in lines
    assert "not run  PowBackward0  train.py:18" in lines


def test_an_empty_graph_has_no_lines() -> None:
    assert text(by_hand.measured([], [])) == []


def shown(graph: Graph, *asked: Show, **about: object) -> list[str]:
    scene = by_hand.scene(graph, show=frozenset(asked), **about)
    return ["  " * (line.depth - 1) + words(line) for line in outline(scene)]


def test_show_adds_lines_below_a_node() -> None:
    lines = shown(by_hand.small(), Show.SAVED, Show.HOOKS)
    assert lines[:2] == [
        "#0  MeanBackward0  float32[]  1 hook  train.py:30  in lib/loss.py:7",
        "  tensor hook main.<locals>.clip",
    ]
    assert "    x  float32[8, 4]  128 B" in lines
    assert "      mat1  float32[8, 3]  96 B" in lines
    assert not any("mat1" in line for line in shown(by_hand.small()))


def test_show_grads_says_norms_and_where_gradients_meet() -> None:
    nodes = [Node(number, f"N{number}", 9 - number) for number in range(4)]
    graph = by_hand.measured(nodes, [Edge(0, 1), Edge(0, 2, 1), Edge(1, 3), Edge(2, 3)])
    measured = (GradientStatistics(3, "in", 0, 0.25, 0.1, 0.0, 0, 0),)
    assert shown(graph, Show.GRADS, gradients=measured)[-2:] == ["  adds 2 gradients", "  gradient's norm 0.25"]


def test_what_a_finding_points_at_is_open_and_says_so() -> None:
    graph = by_hand.transformer()
    at = next(node.id for node in graph.nodes if node.module and node.module.path == "h.7.mlp.act")
    finding = Finding("GS701", "inplace-on-saved", Severity.ERROR, "...", node=at, backward=0)
    lines = shown(graph, Show.FINDINGS, findings=(finding,))
    (place,) = (number for number, line in enumerate(lines) if "GS701" in line)
    assert lines[place].strip() == "✗ GS701 inplace-on-saved"
    assert lines[place - 1].split()[0] == f"#{at}"


@pytest.mark.parametrize("depth", [None, 1])
def test_what_was_asked_for_and_outputs_show_in_closed_calls_and_repeats(depth: int | None) -> None:
    graph = by_hand.transformer()
    rules = Rules(depth=depth, keep=frozenset({700}))
    graph = replace(graph, backward=replace(graph.backward, roots=(Root(0), Root(900))))
    places = [line.split()[0] for line in shown(graph, rules=rules)]
    assert {"#0", "#700", "#900"} <= set(places)


def test_closed_calls_and_repeats_say_what_they_hold() -> None:
    graph = by_hand.transformer()
    hook = Hook(0, "tensor", "f", "x", by_hand.line(12))
    nodes = tuple(
        replace(node, function=FunctionClass("main.RMSNorm"), hooks=(hook,))
        if node.module and node.module.path.endswith("mlp.act")
        else node
        for node in graph.nodes
    )
    lines = text(replace(graph, nodes=nodes), depth=2)
    (first,) = (line for line in lines if line.startswith("h.23"))
    assert first.endswith(f"4 hooks  4{TIMES} RMSNorm (custom)")
    (rest,) = (line for line in lines if "same Block" in line)
    assert rest.endswith(f"88 hooks at train.py:12  88{TIMES} RMSNorm (custom)")
