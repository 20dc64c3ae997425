"""Figures fit where they are put: type can be read, columns instead of towers, nothing over a name."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise

import pytest

from gradscope.errors import UsageError
from gradscope.model.graph import Graph
from gradscope.model.printable import printable
from gradscope.render import pdf, svg
from gradscope.render.fit import SMALLEST_TYPE, TALLEST, Placed, fitted, paper, place
from gradscope.render.layout.columns import MOST_LED, MOST_LED_OF_TOWERS, balanced
from gradscope.render.layout.geometry import Layout
from gradscope.render.layout.nested import lay_out
from gradscope.render.panel import NOTE, panel
from gradscope.render.picture import PicturePart, compose
from gradscope.render.shapes import Shape, Words
from gradscope.view.draw import draw
from gradscope.view.drawing import Arrow, Box, Cluster, Drawing
from gradscope.view.style import PAPERS, Direction, Style
from tests import by_hand

BUILTIN = Style(engine="builtin")
GRAPHS = {"transformer": by_hand.transformer(), "chain": by_hand.chain(120), "loop": by_hand.loop(60)}


def figure(graph: Graph, fit: str | None) -> Placed:
    style = BUILTIN if fit is None else replace(BUILTIN, page=paper(fit))
    scene = replace(by_hand.scene(graph), style=style)
    return place(fitted(scene), style, printable)


def frames_of(part: PicturePart) -> tuple[float, float, float, float]:
    (shape, *_) = (one for one in part.shapes if isinstance(one, Shape))
    xs = [x for _, numbers in shape.way for x in numbers[::2]]
    ys = [y for _, numbers in shape.way for y in numbers[1::2]]
    return min(xs), min(ys), max(xs), max(ys)


@pytest.mark.parametrize("fit", [*PAPERS, "160x120mm"])
@pytest.mark.parametrize("name", GRAPHS)
def test_type_can_be_read_on_every_page(name: str, fit: str) -> None:
    found = figure(GRAPHS[name], fit)
    page = paper(fit)
    assert found.scale * NOTE >= SMALLEST_TYPE
    assert found.picture.width * found.scale <= page.width + 0.5
    assert found.picture.height * found.scale <= page.height + 0.5


@pytest.mark.parametrize("fit", ["a4", "column"])
def test_a_depth_that_has_no_room_is_taken_back_and_said(fit: str) -> None:
    said: list[str] = []
    style = replace(BUILTIN, page=paper(fit), say=said.append)
    drawing = fitted(replace(by_hand.scene(by_hand.transformer(), depth=6), style=style))
    assert place(drawing, style, printable).scale * NOTE >= SMALLEST_TYPE
    assert said[0].startswith(f"--depth 6 does not fit on {fit} with type of 7 points: drawn ")


def test_a_depth_that_has_room_is_kept() -> None:
    said: list[str] = []
    scene = by_hand.scene(by_hand.small(), depth=1)
    drawing = fitted(replace(scene, style=replace(BUILTIN, page=paper("a4"), say=said.append)))
    assert drawing.boxes == draw(scene).boxes
    assert not said


@pytest.mark.parametrize("name", GRAPHS)
def test_no_picture_is_a_tower(name: str) -> None:
    picture = figure(GRAPHS[name], None).picture
    assert picture.height <= 2.0 * picture.width
    assert picture.height <= 8000


@pytest.mark.parametrize("name", GRAPHS)
def test_boxes_in_columns_do_not_overlap(name: str) -> None:
    boxes = [frames_of(part) for part in figure(GRAPHS[name], None).picture.parts if part.kind == "box"]
    for number, (left, top, right, bottom) in enumerate(boxes):
        for other in boxes[:number]:
            assert left >= other[2] or other[0] >= right or top >= other[3] or other[1] >= bottom


@pytest.mark.parametrize("name", GRAPHS)
def test_everything_is_on_the_paper(name: str) -> None:
    picture = figure(GRAPHS[name], "a4").picture
    for part in picture.parts:
        for one in part.shapes:
            if isinstance(one, Words):
                assert -1 <= one.x <= picture.width
                assert 0 <= one.y <= picture.height


def test_words_are_held_to_the_width_that_was_planned() -> None:
    text = svg.picture(draw(by_hand.scene(by_hand.small())), BUILTIN)
    words = re.findall(r"<text [^>]*>", text)
    assert words
    assert all("textLength=" in word for word in words)


def test_a_pdf_has_the_size_of_its_page() -> None:
    style = replace(BUILTIN, page=PAPERS["column"])
    scene = replace(by_hand.scene(by_hand.transformer()), style=style)
    width, height = map(float, re.findall(rb"MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", pdf.picture(fitted(scene), style))[0])
    assert width <= 252.1
    assert height <= 680.1


@pytest.mark.parametrize("wrong", ["a5x", "0x0", "axb", "100", "100x", "-5x100", "1e9x5", "nanx5"])
def test_a_size_that_is_none_is_refused(wrong: str) -> None:
    with pytest.raises(UsageError, match="--fit takes"):
        paper(wrong)


def through_boxes(drawing: Drawing, layout: Layout) -> list[Arrow]:
    """The arrows that lead through boxes which are not theirs."""
    found = []
    for arrow, route in zip(drawing.arrows, layout.routes, strict=True):
        others = [rect for number, rect in enumerate(layout.boxes) if number not in (arrow.tail, arrow.head)]
        points = route.sampled(3.0)
        if any(one.x < x < one.right and one.y < y < one.bottom for one in others for x, y in points):
            found.append(arrow)
    return found


def tall(arrows: int) -> tuple[Drawing, Layout]:
    """Two frames, one in the other, around 20 boxes in a row, with so many arrows from the first box to the last."""
    boxes = tuple(Box(f"box {number}", (), frozenset(), 1) for number in range(20))
    links = tuple(Arrow(number, number + 1) for number in range(19))
    drawing = Drawing("", boxes, (*links, *(Arrow(0, 19) for _ in range(arrows))), (Cluster("a  A"), Cluster("b", 0)))
    return drawing, lay_out(drawing, [(60.0, 30.0)] * 20, [20.0, 20.0], Direction.DOWN)


def test_frames_that_go_on_in_another_column_are_named_again() -> None:
    drawing, layout = tall(0)
    panels = [panel(box, printable) for box in drawing.boxes]
    picture = compose(drawing, panels, balanced(layout, 2), printable)
    names = [one.text for part in picture.parts if part.kind == "name" for one in part.shapes if isinstance(one, Words)]
    assert names == ["a  A", "b", "… a / b"]


def test_no_cut_leaves_a_frames_name_behind_or_boxes_below_its_end() -> None:
    _, layout = tall(0)
    found = balanced(layout, 4)
    assert found is not layout
    assert all(rect.height > 30 for rect in (*found.clusters, *(rect for _, rect in found.parts)))


def test_where_many_arrows_pass_nothing_is_cut() -> None:
    _, layout = tall(MOST_LED)
    assert balanced(layout, 2) is layout


def test_a_tower_is_cut_also_where_more_arrows_pass_than_are_easy_to_follow() -> None:
    drawing, _ = tall(MOST_LED)
    picture = place(drawing, BUILTIN, printable).picture
    assert picture.height <= 2.0 * picture.width


def test_a_tower_is_cut_where_it_helps_and_not_where_few_arrows_pass() -> None:
    boxes = tuple(Box(f"box {number}", (), frozenset()) for number in range(200))
    links = [Arrow(number, number + 1) for number in range(199)]
    links += [Arrow(3, 199) for _ in range(MOST_LED_OF_TOWERS)]  # a cut above the fourth box would be for nothing
    picture = place(Drawing("", boxes, tuple(links)), BUILTIN, printable).picture
    assert picture.height <= 2.0 * picture.width
    assert picture.height < TALLEST


def test_each_arrow_across_a_cut_has_a_lane_of_its_own() -> None:
    drawing, layout = tall(MOST_LED_OF_TOWERS - 1)
    found = balanced(layout, 2, MOST_LED_OF_TOWERS)
    ends = [
        (one, two) for route in found.routes for one, two in pairwise((route.start, *(end for *_, end in route.curves)))
    ]
    lanes = [one[0] for one, two in ends if one[0] == two[0] and abs(one[1] - two[1]) > found.height / 2]
    assert len(lanes) == len(set(lanes)) == MOST_LED_OF_TOWERS
    assert not through_boxes(drawing, found)


def test_an_arrow_that_goes_up_is_led_back_from_head_to_foot() -> None:
    boxes = tuple(Box(f"box {number}", (), frozenset()) for number in range(20))
    links = [Arrow(*pair) for number in range(19) for pair in ((number, number + 1), (number + 1, number))]
    drawing = Drawing("", boxes, tuple(links), ())
    layout = lay_out(drawing, [(60.0, 30.0)] * 20, [], Direction.DOWN)
    found = balanced(layout, 2)
    assert found is not layout
    assert not through_boxes(drawing, found)


@pytest.mark.parametrize("engine", ["auto", "builtin"])
@pytest.mark.parametrize("width", [40, 120])
def test_a_fan_is_no_strip(engine: str, width: int) -> None:
    style = Style(engine=engine)
    drawing = fitted(replace(by_hand.scene(by_hand.fan(width, alike=False)), style=style))
    picture = place(drawing, style, printable).picture
    assert picture.width <= 2 * picture.height
    assert picture.width < 8000


def test_a_fan_that_runs_sideways_is_left_as_it_is() -> None:
    scene = by_hand.scene(by_hand.fan(40, alike=False))
    style = replace(BUILTIN, direction=Direction.RIGHT)
    drawing = fitted(replace(scene, style=style))
    assert len(drawing.boxes) == 41
    assert place(drawing, style, printable).picture.height > 1000
