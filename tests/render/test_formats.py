"""Each format of a small graph against its golden file, and all of them on graphs that are large or hostile."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from gradscope.errors import UsageError
from gradscope.model.graph import Graph
from gradscope.render.drawn import DRAWN
from gradscope.render.formats import FORMATS, Format, choose
from gradscope.version import __version__
from gradscope.view.scene import Scene
from gradscope.view.style import Style
from tests import by_hand

Golden = Callable[[str, str], None]
PLAIN = [FORMATS[name] for name in ("text", "json", "dot", "mermaid")]
names = pytest.mark.parametrize("format", PLAIN, ids=[format.name for format in PLAIN])


def text_of(scene: Scene) -> str:
    return str(FORMATS["text"].render(scene))


def json_of(scene: Scene) -> str:
    return str(FORMATS["json"].render(scene))


@names
def test_small_graph(format: Format, golden: Golden) -> None:
    text = str(format.render(by_hand.scene(by_hand.small())))
    golden(f"small{format.suffix}", text.replace(f'"gradscope": "{__version__}"', '"gradscope": "VERSION"'))


def test_transformer_as_text(golden: Golden) -> None:
    golden("transformer.txt", text_of(by_hand.scene(by_hand.transformer())))


@pytest.mark.parametrize("name", ["dot", "mermaid"])
def test_a_drawing_of_everything(name: str, golden: Golden) -> None:
    drawn = DRAWN[name]
    golden(f"everything{drawn.suffix}", str(drawn.write(by_hand.everything(), Style())))


@names
@pytest.mark.parametrize(
    "graph", [by_hand.measured([], []), by_hand.chain(1), by_hand.hostile()], ids=["empty", "one", "hostile"]
)
def test_odd_graphs(format: Format, graph: Graph) -> None:
    text = str(format.render(by_hand.scene(graph)))
    assert text.endswith("\n")
    assert not any(character in text for character in "\x1b\x07\x00\u202e")


@pytest.fixture(scope="module")
def long_chain() -> Graph:
    return by_hand.chain(30_000)


@names
def test_a_long_chain(format: Format, long_chain: Graph) -> None:
    """No recursion; quadratic work would meet the suite's time limit."""
    text = str(format.render(by_hand.scene(long_chain)))
    assert text.endswith("\n")
    assert "30,000 nodes" in text or text.count('"seq_nr"') == 30_000  # json has the nodes themselves


def test_json_is_the_whole_graph() -> None:
    graph = by_hand.transformer()
    page = json.loads(json_of(by_hand.scene(graph)))
    assert page["format"] == 1
    assert [node["id"] for node in page["nodes"]] == list(range(len(graph.nodes)))
    assert len(page["edges"]) == len(graph.edges)
    assert page["backward"]["order_source"] == "measured"


def test_json_keeps_hostile_names_as_they_are() -> None:
    page = json.loads(json_of(by_hand.scene(by_hand.hostile())))
    for name, node in zip(by_hand.HOSTILE, page["nodes"], strict=True):
        assert name == node["name"] == node["leaf"] == node["site"]["file"] == node["saved"][0]["name"]


def test_markup_in_names_is_not_interpreted() -> None:
    text = text_of(by_hand.scene(by_hand.hostile(), width=1000))
    assert "[red]markup[/red] [link=file:///]x[/link] :smile:" in text
    assert "\\x1b[31mred" in text


def test_colour_only_when_asked() -> None:
    scene = by_hand.scene(by_hand.small())
    assert "\x1b[" not in text_of(scene)
    assert "\x1b[" in text_of(by_hand.scene(by_hand.small(), color=True))


def test_text_is_as_wide_as_the_terminal() -> None:
    text = text_of(by_hand.scene(by_hand.transformer(), width=60))
    assert max(map(len, text.splitlines())) <= 60


@pytest.mark.parametrize(
    ("fmt", "output", "name"),
    [
        (None, None, "text"),
        (None, "-", "text"),
        (None, "a.svg", "svg"),
        (None, "a.JSON", "json"),
        ("dot", "a.txt", "dot"),
        (None, "a.pdf", "pdf"),
        (None, "a.mmd", "mermaid"),
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
    lines = text_of(by_hand.scene(failed)).splitlines()
    assert lines[2] == "raised RuntimeError: no"
