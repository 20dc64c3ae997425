"""What follows the player and the pointer: panel, outline, crosshairs, the steps of the run, calls side by side."""

from __future__ import annotations

from dataclasses import replace

from playwright.sync_api import expect

from gradscope.model.graph import OrderSource
from gradscope.view.story import Story
from tests import by_hand
from tests.page.browser import Opener
from tests.page.stories import call, several


def test_panel_and_outline_follow_the_player(opened: Opener) -> None:
    page = opened(by_hand.chain(5))
    page.keyboard.press("]")
    page.keyboard.press("]")
    assert page.locator("#panel h2").inner_text() == "AddBackward0"
    assert "node=" not in page.url
    page.click("#tab-outline")
    page.keyboard.press("]")
    expect(page.locator("#panel [aria-selected=true]")).to_contain_text("#2")
    page.click("#stop")
    page.click("#tab-node")
    assert page.locator("#panel h2").count() == 0


def test_crosshairs_name_the_node(opened: Opener) -> None:
    page = opened(several(), "#tab=gradients")
    plot = page.locator("#panel svg.plot").bounding_box()
    assert plot is not None
    page.mouse.move(plot["x"] + plot["width"] / 2, plot["y"] + plot["height"] / 2)
    assert "norm" in page.locator("#panel .plot + p").inner_text()
    line = page.locator("#timeline").bounding_box()
    assert line is not None
    page.mouse.move(line["x"] + 1, line["y"] + 5)
    assert "#0 MeanBackward0" in page.locator("#card").inner_text()


def test_steps_of_the_run_stand_above_the_timeline(opened: Opener) -> None:
    steps = ((0, 3.0, 1.0), (1, 2.0, None), (2, 1.0, 0.5), (7, float("nan"), None))
    page = opened(replace(several(), steps=steps))
    curve = page.locator("#steps")
    assert "loss over 4 steps of the run, from 3 to nan; 1 here" in str(curve.get_attribute("aria-label"))
    curve.click(position={"x": 1, "y": 5})
    assert page.locator("#backward").input_value() == "0"
    curve.hover(position={"x": 1, "y": 5})
    assert "loss 3" in page.locator("#card").inner_text()


def test_without_steps_there_is_no_curve(opened: Opener) -> None:
    assert opened(by_hand.small()).locator("#steps").is_hidden()


def test_two_calls_stand_side_by_side_with_their_differences(opened: Opener) -> None:
    graph = by_hand.chain(9)
    order = [0, 1, 2, 3, 5, 4, 6, 7, 8]
    nodes = tuple(replace(node, order=order.index(node.id)) for node in graph.nodes)
    other = replace(graph, nodes=nodes, backward=replace(graph.backward, order_source=OrderSource.MEASURED))
    page = opened(Story((call(graph, 0), call(other, 1)), 1, by_hand.RUN, "train.gscope", alike=(0, 0)), "#tab=compare")
    rows = page.get_by_role("region", name="side by side").locator("tbody tr")
    assert rows.count() == 5
    assert [row.get_attribute("class") for row in rows.all()] == [None, None, "differs", None, None]
