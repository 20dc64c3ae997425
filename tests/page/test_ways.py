"""Colours, ways, cards, overview, history: what helps to find one's way in a large graph."""

from __future__ import annotations

import re

from gradscope.model.graph import Edge, Node
from gradscope.view.draw import draw
from gradscope.view.heat import QUANTITIES, Measured, heat
from gradscope.view.story import Story
from gradscope.view.theme import LIGHT, ramp
from tests import by_hand
from tests.by_hand import UNFOLDED
from tests.page.browser import Opener
from tests.page.stories import call


def test_boxes_take_the_colour_of_a_quantity_and_the_legend_has_its_scale(opened: Opener) -> None:
    page = opened(by_hand.transformer(3))
    before = page.evaluate("document.getElementById('graph').toDataURL()")
    page.locator("#color").select_option("bytes")
    page.evaluate(
        """old => new Promise(done => {
            const picture = document.getElementById("graph");
            const look = () => picture.toDataURL() === old ? requestAnimationFrame(look) : done();
            look();
        })""",
        before,
    )
    assert "saved bytes:" in page.locator("#legend").inner_text()


def test_boxes_have_the_colours_that_they_have_in_pictures(opened: Opener) -> None:
    recorded = call(by_hand.chain(4), 0)
    measured = Measured(recorded.runs, recorded.gradients)
    page = opened(Story((recorded,), 0, by_hand.RUN, "train.gscope", rules=UNFOLDED, color="norm"))
    assert page.locator("#color").input_value() == "norm"
    for name, quantity in QUANTITIES.items():
        page.evaluate("name => gradscope.colorBy(name)", name)
        found = page.evaluate("gradscope.boxes().map(box => box.color)")
        scene = by_hand.scene(recorded.graph, rules=UNFOLDED, heat=heat(quantity, recorded.graph, measured))
        assert drawn_near(found, [ramp(LIGHT, box.heat or 0.0) for box in draw(scene).boxes])


def drawn_near(found: list[str | None], expected: list[str]) -> bool:
    """Whether colours are the same, but for what rounding a place on the scale makes of them."""
    if found == [None] * len(expected):
        return set(expected) == {LIGHT.paper}
    both = list(zip(map(str, found), expected, strict=True))
    parts = [(one[at : at + 2], two[at : at + 2]) for one, two in both for at in (1, 3, 5)]
    return all(abs(int(one, 16) - int(two, 16)) <= 3 for one, two in parts)


def test_what_was_not_measured_is_said(opened: Opener) -> None:
    page = opened(by_hand.transformer(3))
    page.locator("#color").select_option("norm")
    assert "nothing was measured" in page.locator("#legend").inner_text()


def test_words_can_be_read_on_every_colour_of_the_scale(opened: Opener) -> None:
    page = opened(by_hand.small())
    ratios = page.evaluate("""gradscope.contrasts()""")
    assert min(ratios) >= 4.5


def diamond() -> list[Edge]:
    return [Edge(0, 1), Edge(0, 2), Edge(1, 3), Edge(2, 3), Edge(2, 4)]


def test_the_way_from_the_loss_lights_up(opened: Opener) -> None:
    names = ["Sum", "Mul", "Add", "Sin", "Cos"]
    nodes = [Node(number, f"{name}Backward0", 9 - number) for number, name in enumerate(names)]
    page = opened(by_hand.measured(nodes, diamond()))
    page.evaluate("gradscope.way(null, 3)")
    assert sorted(page.evaluate("gradscope.onWay()")) == [0, 1, 2, 3]
    page.evaluate("gradscope.way(2, 3)")
    assert sorted(page.evaluate("gradscope.onWay()")) == [2, 3]
    page.evaluate("gradscope.way(3, 4)")
    assert page.evaluate("gradscope.onWay()") is None
    assert "no way" in page.locator("#said").text_content()


def test_a_card_tells_of_the_box_below_the_pointer(opened: Opener) -> None:
    page = opened(by_hand.small())
    place = page.evaluate("gradscope.onScreen(gradscope.boxes().find(box => !box.open).item)")
    page.locator("#graph").hover(position={"x": place["x"] + 20, "y": place["y"] + 30})
    assert "Backward0" in page.locator("#card").inner_text()
    assert re.search(r"train.py:\d+", page.locator("#card").inner_text())


def test_the_drawing_cannot_be_lost(opened: Opener) -> None:
    page = opened(by_hand.transformer(3))
    page.evaluate("gradscope.move(1e7, -1e7)")
    camera, stage = page.evaluate("[gradscope.camera(), gradscope.extent()]")
    assert camera["x"] < stage["width"]
    assert camera["y"] + stage["high"] / camera["scale"] > 0


def test_everything_is_in_view_after_fit(opened: Opener) -> None:
    page = opened(by_hand.chain(3000))
    page.evaluate("gradscope.expand()")
    page.keyboard.press("f")
    camera, stage = page.evaluate("[gradscope.camera(), gradscope.extent()]")
    assert stage["height"] * camera["scale"] <= stage["high"]
    assert stage["width"] * camera["scale"] <= stage["wide"]


def test_back_goes_to_what_was_chosen_before(opened: Opener) -> None:
    page = opened(by_hand.small())
    page.evaluate("gradscope.select(1)")
    page.wait_for_url("**node=1**")
    page.evaluate("gradscope.select(2)")
    page.wait_for_url("**node=2**")
    page.go_back()
    page.wait_for_url("**node=1**")


def test_keys_walk_the_backward_in_order(opened: Opener) -> None:
    page = opened(by_hand.small())
    page.locator("#graph").focus()
    page.keyboard.press("n")
    first = page.locator("#panel h2").inner_text()
    page.keyboard.press("n")
    assert page.locator("#panel h2").inner_text() != first
    page.keyboard.press("b")
    assert page.locator("#panel h2").inner_text() == first


def test_a_backward_that_is_not_in_the_page_is_said(opened: Opener) -> None:
    page = opened(by_hand.small(), "#backward=77")
    assert page.locator("#caption").inner_text() == "backward 77 is not in this page"


def test_the_panel_can_be_closed(opened: Opener) -> None:
    page = opened(by_hand.small())
    wide = page.locator("#stage").bounding_box()["width"]
    page.keyboard.press("x")
    assert page.locator("#about").is_hidden()
    assert page.locator("#stage").bounding_box()["width"] > wide


def test_tabs_stand_in_one_row(opened: Opener) -> None:
    page = opened(by_hand.small())
    assert len({round(tab.bounding_box()["y"]) for tab in page.locator("[role=tab]").all()}) == 1


def test_a_parameter_with_many_users_is_a_word_in_each(opened: Opener) -> None:
    page = opened(by_hand.loop(12))
    lines = page.evaluate("gradscope.boxes().flatMap(box => box.lines)")
    assert "W  shared by 12" in lines


def test_steps_of_a_loop_are_boxes_in_the_repeat(opened: Opener) -> None:
    page = opened(by_hand.loop(100))
    titles = page.evaluate("gradscope.boxes().map(box => box.title)")
    (repeat,) = (title for title in titles if "same step" in title)
    assert repeat.startswith("98")
    page.evaluate("gradscope.toggle(gradscope.boxes().find(box => box.title.includes('same step')).item)")
    assert "step 57" in page.evaluate("gradscope.boxes().map(box => box.title)")


def test_thousands_of_boxes_move_about_as_quickly_as_few(opened: Opener) -> None:
    page = opened(by_hand.chain(10_000))
    frame = """(() => {
      const started = performance.now();
      for (let k = 0; k < 10; k++) gradscope.move(3, 2);
      return (performance.now() - started) / 10;
    })()"""
    page.evaluate("gradscope.expand()")
    near = page.evaluate(frame)
    page.evaluate("gradscope.fit()")
    far = page.evaluate(frame)
    drawn_each = page.evaluate(
        """(() => {
          const started = performance.now();
          gradscope.svg();
          return performance.now() - started;
        })()"""
    )
    assert near < drawn_each
    assert far < drawn_each / 2
