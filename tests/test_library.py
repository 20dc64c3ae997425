"""Recordings as objects: graphs stay what programs expect, and notebooks show them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

import gradscope
from gradscope.errors import UsageError
from gradscope.library import RecordedGraph
from gradscope.model.graph import Graph
from tests import by_hand
from tests.recordings import write


@pytest.fixture
def graph(tmp_path: Path) -> RecordedGraph:
    with gradscope.load(write(tmp_path / "a.gscope", by_hand.small())) as recording:
        return recording.graph()


def test_a_graph_is_a_graph(graph: RecordedGraph) -> None:
    assert isinstance(graph, Graph)
    assert len(graph.nodes) == 7
    assert replace(graph, edges=()).run == graph.run


def test_a_notebook_shows_a_picture(graph: RecordedGraph) -> None:
    root = ElementTree.fromstring(graph._repr_svg_())
    assert root.tag.endswith("svg")
    assert "SwishBackward" in "".join(root.itertext())


def test_pictures_on_one_page_keep_their_rules_to_themselves(graph: RecordedGraph) -> None:
    one, other = str(graph.draw()), str(graph.draw(depth=1))
    names = [ElementTree.fromstring(text).get("id") for text in (one, other)]
    assert names[0] != names[1]
    rules = [line for line in one.partition("</style>")[0].splitlines() if "{" in line]
    assert all(line.startswith(f"#{names[0]} ") for line in rules)
    assert one.count('marker id="') == one.count(f'marker id="{names[0]}')
    assert one.count("url(#") == one.count(f"url(#{names[0]}")


def test_a_graph_draws_itself_in_every_format(graph: RecordedGraph) -> None:
    assert str(graph.draw("text")).startswith("train.py, backward 0")
    assert "rankdir=LR" in str(graph.draw("dot", direction="right"))
    assert "mat1  float32[8, 3]  96 B" in str(graph.draw("dot", show=["saved"]))
    pdf = graph.draw("pdf", engine="builtin")
    assert isinstance(pdf, bytes)


@pytest.mark.parametrize("wrong", [{"fmt": "gif"}, {"theme": "pink"}, {"direction": "in"}, {"show": ["colours"]}])
def test_values_that_are_none(graph: RecordedGraph, wrong: dict[str, str]) -> None:
    with pytest.raises(UsageError, match="there is no"):
        graph.draw(**wrong)  # type: ignore[arg-type]
