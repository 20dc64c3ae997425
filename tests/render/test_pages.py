"""A pdf of what does not fit on its paper has pages: type can be read, and no box is cut."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from gradscope.model.graph import Graph
from gradscope.render import pdf
from gradscope.render.fit import SMALLEST_TYPE, Placed, place
from gradscope.render.pages import Leaf, leaves
from gradscope.render.panel import NOTE
from gradscope.render.shapes import Shape
from gradscope.view.draw import draw
from gradscope.view.drawing import Drawing
from gradscope.view.style import PAPERS, Style
from tests import by_hand
from tests.page.stories import fan

A4 = PAPERS["a4"]
STYLE = Style(engine="builtin", page=A4)


def everything_of(graph: Graph) -> Drawing:
    scene = by_hand.scene(graph)
    return draw(replace(scene, rules=replace(scene.rules, fold=False)))


def cut(graph: Graph) -> tuple[Placed, list[Leaf]]:
    placed = place(everything_of(graph), STYLE, pdf.letters, pages=True)
    return placed, leaves(placed.picture, A4.width / placed.scale, A4.height / placed.scale)


def sizes(file: bytes) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in re.findall(rb"MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", file)]


@pytest.mark.parametrize("graph", [by_hand.chain(200), fan(40), by_hand.transformer(3)], ids=["chain", "fan", "gpt"])
def test_every_box_is_whole_on_one_page(graph: Graph) -> None:
    placed, pages = cut(graph)
    assert len(pages) > 1
    for part in placed.picture.parts:
        if part.kind == "box":
            ways = [numbers for one in part.shapes if isinstance(one, Shape) for _, numbers in one.way]
            xs, ys = [x for way in ways for x in way[::2]], [y for way in ways for y in way[1::2]]
            across = (page.x <= min(xs) and max(xs) <= page.x + page.width for page in pages)
            down = (page.y <= min(ys) and max(ys) <= page.y + page.height for page in pages)
            assert sum(one and other for one, other in zip(across, down, strict=True)) == 1


def test_type_on_pages_can_be_read() -> None:
    assert cut(by_hand.chain(200))[0].scale * NOTE >= SMALLEST_TYPE


def test_pages_have_the_size_of_the_paper_and_their_numbers() -> None:
    said: list[str] = []
    file = pdf.picture(everything_of(by_hand.chain(200)), replace(STYLE, say=said.append))
    found = sizes(file)
    assert file.count(b"/Type /Page ") == len(found) > 1
    assert all(width <= A4.width + 0.1 and height <= A4.height + 0.1 for width, height in found)
    assert any(f"in {len(found)} pages" in line for line in said)


def test_what_no_reader_would_take_is_cut_instead_of_made_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pdf, "LARGEST", 600.0)
    monkeypatch.setattr(pdf, "SHEET", 500.0)
    found = sizes(pdf.picture(everything_of(by_hand.transformer(1)), Style(engine="builtin")))
    assert len(found) > 1
    assert max(side for size in found for side in size) <= 600.0


def test_what_fits_is_one_page() -> None:
    assert len(sizes(pdf.picture(draw(by_hand.scene(by_hand.small())), STYLE))) == 1
