"""The page's file: its policy, its parts, and that nothing of a recording is markup in it."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from pathlib import Path

import pytest

from gradscope.model.graph import Graph
from gradscope.render import comparison_html, html
from gradscope.view.story import story_of
from tests import by_hand

ASSETS = Path(html.__file__).parent / "assets"
MOST_BYTES = 120_000


def rendered(graph: Graph) -> str:
    return html.render(by_hand.scene(graph))


def unpacked(text: str, name: str) -> str:
    (letters,) = re.findall(rf'<script type="text/plain" id="{name}">([A-Za-z0-9+/=]*)</script>', text)
    return gzip.decompress(base64.b64decode(letters)).decode("utf-8")


def test_every_asset_is_part_of_a_page() -> None:
    used = {*html.SCRIPTS, html.LOADER, html.STYLE, html.BODY, comparison_html.STYLE}
    assert used == {path.name for path in ASSETS.iterdir()}


def test_the_data_is_what_the_view_says() -> None:
    scene = by_hand.scene(by_hand.small())
    assert unpacked(html.render(scene), "data") == html.data(story_of(scene))


def test_the_policy_names_each_script_and_the_style_by_its_hash() -> None:
    text = rendered(by_hand.small())
    (policy,) = re.findall(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">', text)
    (style,) = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    (loader,) = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    for part in (style, loader, unpacked(text, "program")):
        digest = base64.b64encode(hashlib.sha256(part.encode("utf-8")).digest()).decode("ascii")
        assert f"'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    assert "http" not in policy
    assert policy.count("sha256-") == 3


def test_the_page_names_no_place_on_the_network() -> None:
    text = rendered(by_hand.small()) + html.whole_program()
    assert set(re.findall(r"\w+://[^\s\"'`]*", text)) == {"http://www.w3.org/2000/svg"}  # a namespace, never fetched


@pytest.mark.parametrize(
    "way", ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function("]
)
def test_the_program_makes_no_markup_of_strings(way: str) -> None:
    assert way not in html.whole_program()


def test_names_are_no_markup() -> None:
    text = rendered(by_hand.hostile())
    assert "alert(1)" not in text
    assert "<b>html label" not in text
    assert len(re.findall(r"<script", text)) == 3


def test_the_same_recording_gives_the_same_page() -> None:
    assert rendered(by_hand.small()) == rendered(by_hand.small())


def test_a_large_graph_makes_a_small_page() -> None:
    assert len(rendered(by_hand.transformer())) < MOST_BYTES


def test_the_data_of_odd_graphs_is_json() -> None:
    for graph in (by_hand.measured([], []), by_hand.chain(1), by_hand.hostile()):
        assert json.loads(unpacked(rendered(graph), "data"))["format"] == 1
