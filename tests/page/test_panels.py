"""What stands around the picture: search, the panel's tabs, the player, links; all of it by keyboard, too."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from gradscope.engine.order import predict
from gradscope.engine.replay import moments
from gradscope.model.graph import Graph, OrderSource
from gradscope.view.ordered import ordered
from tests import by_hand
from tests.page.browser import Opener, boxes
from tests.page.stories import FINDING, SOURCE, fan, ladder, several, with_finding


def panel(page: Page) -> str:
    return page.locator("#panel").inner_text()


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("addmm", "AddmmBackward0"),
        ("aten.mean", "MeanBackward0"),
        ("linear.bias", "AccumulateGrad"),
        ("train.py:21", "SwishBackward"),
        ("#2", "AddmmBackward0"),
        ("6", "PowBackward0"),
    ],
)
def test_search(opened: Opener, words: str, name: str) -> None:
    page = opened(by_hand.small())
    page.keyboard.press("/")
    page.keyboard.type(words)
    assert page.locator("#found [role=option]").count() >= 1
    page.keyboard.press("Enter")
    assert page.locator("#panel h2").inner_text() == name


def test_search_opens_the_groups_around_what_it_finds(opened: Opener) -> None:
    page = opened(by_hand.transformer(24))
    page.fill("#search", "h.11.attn.c_attn.weight")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert "h.11.attn.c_attn.weight" in panel(page)
    assert any(box["open"] and box["title"].startswith("22") for box in boxes(page))


def test_search_says_when_there_is_nothing(opened: Opener) -> None:
    page = opened(by_hand.small())
    page.fill("#search", "conv")
    assert "nothing found" in page.locator("#found").inner_text()
    page.keyboard.press("Escape")
    assert page.locator("#found").is_hidden()


def test_a_finding_leads_to_its_node_and_shows_the_lines(opened: Opener) -> None:
    page = opened(with_finding())
    assert page.locator("#tab-findings").get_attribute("aria-selected") == "true"
    assert "GS701" in panel(page)
    assert "line 20 of the program" in page.locator("#panel .here").first.inner_text()
    page.locator("#panel .finding .title").first.click()
    expect(page).to_have_url(re.compile("node=2"))
    page.click("#tab-node")
    assert page.locator("#panel h2").inner_text() == "AddmmBackward0"
    assert "relu_ edited it in place" in panel(page)


def test_without_sources_there_are_places_only(opened: Opener) -> None:
    page = opened(by_hand.small(), "#node=1")
    assert "train.py:21" in panel(page)
    assert "of the program" not in panel(page)
    assert SOURCE.splitlines()[0] not in page.content()


def test_the_panel_of_a_node(opened: Opener) -> None:
    page = opened(with_finding(), "#node=2")
    words = panel(page)
    for part in ("#2 of 6", "linear (Linear)", "Grad:1 Vmap:2", "mat1", "float32[8, 3]", "48 B of linear.weight"):
        assert part in words
    for part in ("Gradient comes from", "SwishBackward", "Gradient goes to", "0.3333", "Made at"):
        assert part in words
    page.evaluate("gradscope.select(3)")
    assert "aten.mm.default" in panel(page)
    page.evaluate("gradscope.select(0)")
    assert "main.<locals>.clip" in panel(page)
    assert "gave another tensor" in panel(page)


def test_hooks_in_firing_order(opened: Opener) -> None:
    page = opened(with_finding(), "#tab=hooks")
    assert "1 firing, in order" in panel(page)
    assert "main.<locals>.clip" in panel(page)
    page.locator("#panel button.link").first.click()
    assert page.locator("#panel h2").inner_text() == "MeanBackward0"


def test_gradient_flow(opened: Opener) -> None:
    page = opened(several(), "#tab=gradients")
    assert page.locator("#panel svg.plot").get_attribute("role") == "img"
    assert "linear.bias" in panel(page)
    assert "2.5" in panel(page)
    page = opened(by_hand.small(), "#tab=gradients")
    assert "--detail full" in panel(page)


def test_memory_by_module(opened: Opener) -> None:
    page = opened(by_hand.transformer(2), "#tab=memory")
    first = page.locator("#panel .memory .row").first
    assert "GPT" in first.inner_text()
    first.locator("button[aria-expanded]").click()
    assert "h.1" in panel(page)


def test_the_outline_by_keyboard(opened: Opener) -> None:
    page = opened(by_hand.small(), "#tab=outline")
    page.locator("[role=treeitem]").first.focus()
    for key in ("ArrowDown", "ArrowRight", "ArrowDown", "Enter"):
        page.keyboard.press(key)
    here = page.locator("[role=treeitem][aria-level='2']").first
    assert here.evaluate("element => element === document.activeElement")
    expect(page).to_have_url(re.compile("node=1"))


def test_the_first_key_leads_to_the_outline(opened: Opener) -> None:
    page = opened(by_hand.small())
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.locator("[role=treeitem]").first.evaluate("element => element === document.activeElement")


@pytest.mark.parametrize("graph", [by_hand.small(), by_hand.transformer(2), fan(30), ladder(40)])
def test_the_ready_queue_is_the_engines(opened: Opener, graph: Graph) -> None:
    graph = ordered(replace(graph, backward=replace(graph.backward, order_source=OrderSource.PREDICTED)))
    page = opened(graph)
    told = list(moments(graph, predict(graph)))
    order = [moment.node for moment in told]
    call = "const call = gradscope.book.backward(0)"
    queues = page.evaluate(f"(() => {{ {call}; return [...call.order.keys()].map(at => call.queue(at)) }})()")
    assert page.evaluate("[...gradscope.book.backward(0).order]") == order
    assert [len(queue) for queue in queues] == [moment.waiting for moment in told]
    assert [queue[:1] for queue in queues[:-1]] == [[node] for node in order[1:]]


def test_the_player_steps_and_says_where_it_is(opened: Opener) -> None:
    page = opened(with_finding())
    page.click("#step")
    assert "#0 of 6" in page.locator("#now").inner_text()
    page.click("#step")
    assert "SwishBackward" in page.locator("#now").inner_text()
    assert "AddmmBackward0" in page.locator("#queue").inner_text()
    assert "Ready queue (1)" in page.locator("#player").inner_text()
    page.keyboard.press("[")
    assert "#0 of 6" in page.locator("#now").inner_text()
    expect(page).to_have_url(re.compile("step=0"))
    page.click("#stop")
    expect(page).to_have_url(re.compile("^(?!.*step=)"))


def test_it_plays_to_the_end(opened: Opener) -> None:
    page = opened(by_hand.chain(40))
    page.select_option("#speed", "256")
    page.click("#play")
    expect(page.locator("#scrub")).to_have_value("39")
    expect(page.locator("#play")).to_have_attribute("aria-pressed", "false")
    assert "#39 of 40" in page.locator("#now").inner_text()


def test_scrubbing(opened: Opener) -> None:
    page = opened(by_hand.transformer(2))
    page.locator("#scrub").evaluate("element => { element.value = 50; element.dispatchEvent(new Event('input')) }")
    assert "#50 of" in page.locator("#scrub").get_attribute("aria-valuetext")


def test_deep_links(opened: Opener) -> None:
    page = opened(several(), "#node=3&backward=0&step=2&tab=hooks")
    assert page.locator("#backward").input_value() == "0"
    assert page.locator("#tab-hooks").get_attribute("aria-selected") == "true"
    assert "#2 of 4" in page.locator("#now").inner_text()
    page.click("#tab-node")
    assert page.locator("#panel h2").inner_text() == "MulBackward0"
    page.evaluate("location.hash = '#node=1'")
    expect(page.locator("#panel h2")).to_have_text("SwishBackward")


@pytest.mark.parametrize(
    "link", ["#node=999", "#node=-1", "#node=<b>", "#backward=77", "#tab=constructor", "#step=1e9", "#%"]
)
def test_links_that_lead_nowhere(opened: Opener, link: str) -> None:
    page = opened(by_hand.small(), link)
    assert boxes(page)


def test_large_numbers_are_grouped(opened: Opener) -> None:
    page = opened(by_hand.chain(1234))
    nodes = len(by_hand.chain(1234).nodes)
    assert f"{nodes:,} nodes" in page.locator("#caption").inner_text()


def test_several_backwards(opened: Opener) -> None:
    page = opened(several())
    assert page.locator("#backward option").count() == 3
    page.select_option("#backward", "0")
    assert "4 nodes" in page.locator("#caption").inner_text()
    expect(page).to_have_url(re.compile("backward=0"))


def test_a_comparison(opened: Opener) -> None:
    page = opened(several(), "#tab=compare")
    assert "Both ran through the same graph." in panel(page)
    assert "ran in the same order" in panel(page)
    page.get_by_label("backward A").select_option("0")
    assert "Only in B: 7 nodes" in panel(page)
    page.locator("#panel button.link").first.click()
    expect(page).to_have_url(re.compile("backward=0"))


def test_what_only_the_backward_in_front_has_is_marked_while_it_is_compared(opened: Opener) -> None:
    page = opened(several(), "#tab=compare")
    assert not any(box["marked"] for box in boxes(page))
    page.get_by_label("backward A").select_option("0")
    assert "Marked in the picture: what only B has." in panel(page)
    assert any(box["marked"] for box in boxes(page))
    page.click("#tab-node")
    assert not any(box["marked"] for box in boxes(page))


def test_a_node_is_copied_as_text(opened: Opener) -> None:
    page = opened(with_finding(), "#node=2", permissions=["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy as text").click()
    expect(page.locator("#said")).to_have_text("copied")
    text = page.evaluate("navigator.clipboard.readText()")
    assert text.startswith("AddmmBackward0  (train.py, backward 0)\n  place: #2 of 6\n")
    assert "at: train.py:20 in forward  line 20 of the program" in text


def test_tabs_by_keyboard(opened: Opener) -> None:
    page = opened(by_hand.small())
    page.focus("#tab-node")
    page.keyboard.press("ArrowRight")
    assert page.locator("#tab-outline").get_attribute("aria-selected") == "true"
    page.keyboard.press("End")
    assert page.locator("#tab-compare").get_attribute("aria-selected") == "true"


def test_everything_has_a_name_and_can_be_reached(opened: Opener) -> None:
    page = opened(with_finding())
    for tab in page.locator("[role=tab]").all():
        tab.click()
        nameless = page.evaluate(
            """[...document.querySelectorAll("button, input, select, meter, canvas, [role=img], [role=region]")]
            .filter(one => !one.textContent.trim() && !one.getAttribute("aria-label"))
            .map(one => one.outerHTML)"""
        )
        assert nameless == []
        words = page.locator("body").inner_text()
        assert [one for one in ("[object", "undefined", "null", "NaN,NaN") if one in words] == []
    page.keyboard.press("?")
    assert page.get_by_role("dialog").is_visible()
    page.keyboard.press("Escape")
    assert page.locator("#said").get_attribute("aria-live") == "polite"


def test_the_keys_are_those_of_the_docs(opened: Opener) -> None:
    page = opened(by_hand.small())
    keys = page.locator("#keys kbd").all_text_contents()
    text = (Path(__file__).parents[2] / "docs" / "page.md").read_text(encoding="utf-8")
    told = re.search(r"## Keys\n(.*?)\n\n[^|]", text, re.DOTALL)
    assert told is not None
    assert [key for key in keys if key not in told[1]] == []
    assert sorted(key for key in keys if len(key) == 1) == sorted(re.findall(r"`(.)`", told[1]))


def test_the_address_is_not_written_too_often(opened: Opener) -> None:
    page = opened(by_hand.transformer(2))
    for _ in range(3):
        page.evaluate("for (let node = 0; node < 100; node++) gradscope.select(node)")
    expect(page).to_have_url(re.compile("node=99"))


def test_the_policy_holds(opened: Opener) -> None:
    page = opened(by_hand.small())
    assert page.evaluate("fetch('data:text/plain,a').then(() => 'went out', () => 'refused')") == "refused"
    assert (
        page.evaluate("(() => { try { document.body.innerHTML = '<b>a</b>' } catch { return 'refused' } })()")
        == "refused"
    )
    assert len(opened.complaints) >= 1
    opened.complaints.clear()  # the browser says so in the console


@pytest.mark.parametrize("width", [1440, 900, 390])
def test_no_tab_is_cut_off(opened: Opener, width: int) -> None:
    """Also where the findings are counted."""
    story = replace(with_finding(), findings=(FINDING,) * 12)
    page = opened(story, viewport={"width": width, "height": 700})
    over = "(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)"
    assert page.evaluate(f"{over}(document.getElementById('tabs'))") <= 0
