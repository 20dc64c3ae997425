"""The picture in the page: what shows, what opens, that nothing overlaps, and that it works without a mouse."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

import pytest

from gradscope.model.graph import Graph
from gradscope.view.story import story_of
from gradscope.view.words import TIMES
from tests import by_hand
from tests.page.browser import Opener, boxes, click_on, titles
from tests.page.stories import fan, ladder, modules

SVG = "{http://www.w3.org/2000/svg}"


def apart(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return bool(
        one["x"] + one["w"] <= other["x"]
        or other["x"] + other["w"] <= one["x"]
        or one["y"] + one["h"] <= other["y"]
        or other["y"] + other["h"] <= one["y"]
    )


def within(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return bool(
        other["open"]
        and one["x"] >= other["x"]
        and one["y"] >= other["y"]
        and one["x"] + one["w"] <= other["x"] + other["w"]
        and one["y"] + one["h"] <= other["y"] + other["h"]
    )


def plain() -> Graph:
    """The small graph without transforms."""
    graph = by_hand.small()
    return replace(graph, nodes=tuple(replace(node, levels=()) for node in graph.nodes))


def test_nodes_groups_and_rows_show(opened: Opener) -> None:
    page = opened(plain())
    assert titles(page) == ["AddmmBackward0", "MeanBackward0", "PowBackward0", "SwishBackward"]
    (addmm,) = [box for box in boxes(page) if box["title"] == "AddmmBackward0"]
    assert "via T" in addmm["lines"]  # the weight's accumulator and its T stand as lines in the node's box
    assert any(line.startswith("→ weight") for line in addmm["lines"])
    assert "saves 96 B" in addmm["lines"]
    (mean,) = [box for box in boxes(page) if box["title"] == "MeanBackward0"]
    assert "1 hook" in mean["lines"]
    (idle,) = [box for box in boxes(page) if box["title"] == "PowBackward0"]
    assert "did not run" in idle["lines"]


def test_parameters_and_shapes_as_boxes_of_their_own(opened: Opener) -> None:
    page = opened(plain())
    page.click("#tool-a")
    page.click("#tool-v")
    assert titles(page).count("AccumulateGrad") == 2
    assert "TBackward0" in titles(page)


def test_transforms_are_groups(opened: Opener) -> None:
    assert {"Grad:1", "Vmap:2"} <= {box["title"] for box in boxes(opened(by_hand.small())) if box["open"]}


def test_a_double_click_opens_a_group_and_closes_it(opened: Opener) -> None:
    page = opened(by_hand.transformer(2))
    page.click("#tool-c")
    assert titles(page) == ["GPT"]
    click_on(page, "GPT", double=True)
    assert "ln_f" in titles(page)
    click_on(page, "GPT", double=True)
    assert titles(page) == ["GPT"]


def test_keys_walk_and_open(opened: Opener) -> None:
    page = opened(by_hand.transformer(2))
    page.click("#tool-c")
    page.focus("#graph")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert "ln_f" in titles(page)
    page.evaluate("gradscope.select(0)")
    page.focus("#graph")
    page.keyboard.press("ArrowDown")
    assert page.locator("#panel h2").inner_text() == "LogSoftmaxBackward0"
    page.keyboard.press("ArrowUp")
    assert page.locator("#panel h2").inner_text() == "NllLossBackward0"
    page.keyboard.press("Escape")
    assert page.locator("#panel h2").count() == 0


def test_a_level_at_a_time(opened: Opener) -> None:
    page = opened(by_hand.transformer(3))
    page.click("#tool-c")
    counts = [len(boxes(page))]
    for _ in range(3):
        page.click("#tool-e")
        counts.append(len(boxes(page)))
    assert counts == sorted(set(counts))


@pytest.mark.parametrize(
    "graph",
    [by_hand.small(), by_hand.transformer(4), by_hand.hostile(), fan(2000), ladder(300), by_hand.chain(10_000)],
    ids=["small", "transformer", "hostile", "fan", "ladder", "chain"],
)
def test_nothing_overlaps(opened: Opener, graph: Graph) -> None:
    page = opened(graph)
    for _ in range(2):
        page.click("#tool-e")
    found = boxes(page)
    assert found
    near = sorted(found, key=lambda box: box["y"])
    for place, one in enumerate(near):
        foot = one["y"] + one["h"]
        for other in near[place + 1 : bisect_left(near, foot, key=lambda box: box["y"])]:
            assert apart(one, other) or within(one, other) or within(other, one), (one["title"], other["title"])


@pytest.mark.parametrize("graph", [by_hand.measured([], []), by_hand.chain(1)], ids=["empty", "one"])
def test_almost_nothing(opened: Opener, graph: Graph) -> None:
    page = opened(graph)
    assert len(boxes(page)) == len(graph.nodes)
    for tab in page.locator("[role=tab]").all():
        tab.click()
    page.click("#play")
    page.click("#tool-f")


def test_edges_between_two_boxes_are_one_with_a_number(opened: Opener) -> None:
    page = opened(by_hand.transformer(2))
    page.click("#tool-c")
    assert TIMES not in page.evaluate("gradscope.svg()")
    page = opened(ladder(1500))  # cut into parts, from each of which three edges lead to the next
    assert f"{TIMES}3" in page.evaluate("gradscope.svg()")


def test_the_picture_is_saved_as_svg(opened: Opener) -> None:
    page = opened(by_hand.hostile())
    with page.expect_download() as download:
        page.click("#tool-s")
    assert download.value.suggested_filename.endswith(".svg")
    root = ElementTree.fromstring(download.value.path().read_text(encoding="utf-8"))
    assert root.tag == f"{SVG}svg"
    words = [text.text for text in root.iter(f"{SVG}text")]
    assert "<b>html label</b>" in words
    assert not list(root.iter(f"{SVG}script"))


def test_arrows_of_the_svg_end_on_boxes(opened: Opener) -> None:
    page = opened(by_hand.transformer(3))
    root = ElementTree.fromstring(page.evaluate("gradscope.svg()"))
    lines = [path.get("d") or "" for path in root.iter(f"{SVG}path")]
    tips = [line[1:].split("l")[0].split() for line in lines if line.endswith("l-4 -7h8z")]
    tops = {(round(box["x"] + box["w"] / 2), round(box["y"])) for box in boxes(page) if not box["open"]}
    assert tips
    assert {(round(float(x)), round(float(y))) for x, y in tips} <= tops


def test_zoom_and_fit_keep_the_picture_in_the_window(opened: Opener) -> None:
    page = opened(by_hand.transformer(4))
    page.click("#tool-f")
    for box in boxes(page):
        place = page.evaluate(f"gradscope.onScreen({box['item']})")
        assert place["x"] >= -1
        assert place["y"] >= -1
        assert place["y"] + place["h"] <= 800


def test_words_can_be_read_at_first(opened: Opener) -> None:
    page = opened(by_hand.transformer(12))
    box = boxes(page)[0]
    place = page.evaluate(f"gradscope.onScreen({box['item']})")
    assert place["h"] >= 0.85 * box["h"]


def test_hostile_names_stay_words(opened: Opener) -> None:
    page = opened(by_hand.hostile())
    for node in range(len(by_hand.HOSTILE)):
        page.evaluate(f"gradscope.select({node})")
    for tab in page.locator("[role=tab]").all():
        tab.click()
    assert page.locator("script").count() == 4  # data, program, loader, and the program as it runs
    assert page.locator("img").count() == 0
    page.evaluate("gradscope.select(1)")
    page.click("#tab-node")
    assert page.locator("#panel h2").inner_text() == by_hand.HOSTILE[1]


def test_a_theme_that_was_asked_for_is_kept(opened: Opener) -> None:
    story = replace(story_of(by_hand.scene(by_hand.small())), theme="dark")
    page = opened(story, color_scheme="light")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    page.emulate_media(color_scheme="light")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"


def test_dark_and_light(opened: Opener) -> None:
    page = opened(by_hand.small(), color_scheme="dark")
    paper = "getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(paper) == "rgb(13, 17, 23)"
    page.click("#tool-d")
    assert page.evaluate(paper) == "rgb(255, 255, 255)"


@pytest.mark.parametrize("width", [360, 820, 1280])
def test_no_width_needs_scrolling_sideways(opened: Opener, width: int) -> None:
    page = opened(by_hand.hostile(), viewport={"width": width, "height": 800})
    for tab in page.locator("[role=tab]").all():
        tab.click()
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.locator("#panel").evaluate("panel => panel.scrollWidth <= panel.clientWidth + 1")


def test_the_overview_goes_to_the_corner_where_it_hides_no_box(opened: Opener) -> None:
    """A column of boxes, pushed to the right, where the overview stands."""
    page = opened(by_hand.transformer(4))
    page.evaluate("gradscope.move(-340, 300)")
    page.wait_for_function(
        """() => {
          const sheet = document.getElementById("stage").getBoundingClientRect();
          const map = document.getElementById("map").getBoundingClientRect();
          const [left, top] = [map.left - sheet.left, map.top - sheet.top];
          const over = ({x, y, w, h}) => x < left + map.width && left < x + w && y < top + map.height && top < y + h;
          return left < 20 && !gradscope.boxes().some((box) => !box.open && over(gradscope.onScreen(box.item)));
        }"""
    )


def test_swatches_of_the_legend_are_whole(opened: Opener) -> None:
    page = opened(by_hand.transformer(25))
    marks = page.evaluate(
        "[...document.querySelectorAll('.swatch path')].map((one) => one.getBBox()).map((one) => [one.x, one.width])"
    )
    assert len(marks) > 3
    assert {round(x + width / 2, 3) for x, width in marks} == {17.0}  # no tab that hangs over
    assert all(x >= 2 for x, _ in marks)


def test_counts_of_what_is_closed_are_not_cut(opened: Opener) -> None:
    page = opened(modules(16, 100, "ResidualAttentionBlockWithGatesAndHeads"))
    closed = [box for box in boxes(page) if not box["open"] and box["title"].startswith("layers.")]
    assert closed
    assert all(any(line.endswith("100 nodes") for line in box["lines"]) for box in closed)


PHONE = {"width": 390, "height": 844}
SIDES = "['left', 'right'].filter((side) => document.getElementById('stage').hasAttribute(`data-${side}`))"


def test_on_a_phone_a_drawing_begins_whole_where_it_can_be_read_so(opened: Opener) -> None:
    page = opened(fan(12), viewport=PHONE)
    extent, camera = page.evaluate("gradscope.extent()"), page.evaluate("gradscope.camera()")
    assert extent["width"] * 0.9 > extent["wide"]
    assert camera["x"] <= 0
    assert camera["x"] + extent["wide"] / camera["scale"] >= extent["width"]
    assert page.evaluate(SIDES) == []


def test_a_drawing_that_is_much_wider_begins_readable_and_says_where_it_goes_on(opened: Opener) -> None:
    page = opened(by_hand.fan(12, alike=False), viewport=PHONE)
    extent, camera = page.evaluate("gradscope.extent()"), page.evaluate("gradscope.camera()")
    assert extent["width"] * 0.6 > extent["wide"]
    assert camera["scale"] == 0.9
    assert page.evaluate(SIDES) == ["left", "right"]
    page.evaluate("gradscope.move(-1e6, 0)")
    assert page.evaluate(SIDES) == ["right"]
    page.evaluate("gradscope.fit()")
    assert page.evaluate(SIDES) == []
