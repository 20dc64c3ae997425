"""Each format of a small graph against its golden file, and all of them on graphs that are large or hostile."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from gradscope import __version__
from gradscope.errors import UsageError
from gradscope.model.graph import Graph
from gradscope.render import svg
from gradscope.render.formats import FORMATS, Format, choose
from tests import by_hand

Golden = Callable[[str, str], None]
PLAIN = [format for format in FORMATS.values() if not format.needs]
GOLDEN = [format for format in PLAIN if format.name != "html"]  # a page is tested in a browser
names = pytest.mark.parametrize("format", PLAIN, ids=[format.name for format in PLAIN])
needs_dot = pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")


@pytest.mark.parametrize("format", GOLDEN, ids=[format.name for format in GOLDEN])
def test_small_graph(format: Format, golden: Golden) -> None:
    text = format.render(by_hand.scene(by_hand.small()))
    golden(f"small{format.suffix}", text.replace(f'"gradscope": "{__version__}"', '"gradscope": "VERSION"'))


def test_transformer_as_text(golden: Golden) -> None:
    golden("transformer.txt", FORMATS["text"].render(by_hand.scene(by_hand.transformer())))


def test_transformer_as_dot(golden: Golden) -> None:
    golden("transformer.dot", FORMATS["dot"].render(by_hand.scene(by_hand.transformer(), depth=3)))


@names
@pytest.mark.parametrize(
    "graph", [by_hand.measured([], []), by_hand.chain(1), by_hand.hostile()], ids=["empty", "one", "hostile"]
)
def test_odd_graphs(format: Format, graph: Graph) -> None:
    text = format.render(by_hand.scene(graph))
    assert text.endswith("\n")
    assert not any(character in text for character in "\x1b\x07\x00\u202e")


@names
def test_chain_of_100000(format: Format) -> None:
    """No recursion; quadratic work would meet the suite's time limit."""
    text = format.render(by_hand.scene(by_hand.chain(100_000)))
    assert text.endswith("\n")
    assert "100,000 nodes" in text or text.count('"seq_nr"') == 100_000  # json has the nodes themselves


def test_json_is_the_whole_graph() -> None:
    graph = by_hand.transformer()
    page = json.loads(FORMATS["json"].render(by_hand.scene(graph)))
    assert page["format"] == 1
    assert [node["id"] for node in page["nodes"]] == list(range(len(graph.nodes)))
    assert len(page["edges"]) == len(graph.edges)
    assert page["backward"]["order_source"] == "measured"


def test_json_keeps_hostile_names_as_they_are() -> None:
    page = json.loads(FORMATS["json"].render(by_hand.scene(by_hand.hostile())))
    for name, node in zip(by_hand.HOSTILE, page["nodes"], strict=True):
        assert name == node["name"] == node["leaf"] == node["site"]["file"] == node["saved"][0]["name"]


def test_markup_in_names_is_not_interpreted() -> None:
    text = FORMATS["text"].render(by_hand.scene(by_hand.hostile(), width=1000))
    assert "[red]markup[/red] [link=file:///]x[/link] :smile:" in text
    assert "\\x1b[31mred" in text


def test_colour_only_when_asked() -> None:
    scene = by_hand.scene(by_hand.small())
    assert "\x1b[" not in FORMATS["text"].render(scene)
    assert "\x1b[" in FORMATS["text"].render(by_hand.scene(by_hand.small(), color=True))


def test_text_is_as_wide_as_the_terminal() -> None:
    text = FORMATS["text"].render(by_hand.scene(by_hand.transformer(), width=60))
    assert max(map(len, text.splitlines())) <= 60


@needs_dot
@pytest.mark.parametrize("graph", [by_hand.small(), by_hand.hostile(), by_hand.transformer()])
def test_svg_is_drawn(graph: Graph) -> None:
    text = FORMATS["svg"].render(by_hand.scene(graph))
    assert text.rstrip().endswith("</svg>")
    assert "<script" not in text


@needs_dot
def test_dot_reads_hostile_labels_as_they_are() -> None:
    text = FORMATS["dot"].render(by_hand.scene(by_hand.hostile()))
    done = subprocess.run(["dot", "-Tplain"], input=text, capture_output=True, encoding="utf-8", check=True)
    assert done.stderr == ""
    assert "<b>html label</b>" in done.stdout


def test_svg_without_dot_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, match="not installed") as caught:
        svg.render(by_hand.scene(by_hand.small()))
    assert "apt-get install graphviz" in caught.value.hint
    assert "--fmt text" in caught.value.hint


def test_svg_does_not_wait_for_ever(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    slow = tmp_path / "dot"
    slow.write_text('#!/bin/sh\n[ "$1" = -V ] || exec sleep 30\n')
    slow.chmod(0o755)
    monkeypatch.setattr(svg, "PATIENCE", 0.5)
    monkeypatch.setattr(shutil, "which", lambda name: str(slow))
    with pytest.raises(UsageError, match="was not done") as caught:
        svg.render(by_hand.scene(by_hand.small()))
    assert "--depth" in caught.value.hint


@pytest.mark.parametrize(
    ("fmt", "output", "name"),
    [
        (None, None, "text"),
        (None, "-", "text"),
        (None, "a.svg", "svg"),
        (None, "a.JSON", "json"),
        ("dot", "a.txt", "dot"),
        (None, "a", "text"),
    ],
)
def test_the_format_is_guessed_from_the_output(fmt: str | None, output: str | None, name: str) -> None:
    assert choose(fmt, output).name == name


def test_an_unknown_suffix_is_refused() -> None:
    with pytest.raises(UsageError, match="no format is known"):
        choose(None, "graph.xyz")


def test_what_a_backward_raised_has_a_line_of_its_own() -> None:
    graph = by_hand.small()
    failed = replace(graph, backward=replace(graph.backward, exception="RuntimeError: no\nmore"))
    lines = FORMATS["text"].render(by_hand.scene(failed)).splitlines()
    assert lines[2] == "raised RuntimeError: no"
