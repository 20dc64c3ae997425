"""Boxes in the colour of a quantity: what a box has of it, its place on the scale, and words that can be read."""

from __future__ import annotations

import itertools

import pytest

from gradscope.graphs.rules import Rules
from gradscope.model.graph import Edge, Graph, Node
from gradscope.model.statistics import NodeRun
from gradscope.model.tensor import SavedTensor
from gradscope.render.drawn import DRAWN
from gradscope.view.draw import draw
from gradscope.view.drawing import UNMEASURED, Box, Drawing
from gradscope.view.heat import QUANTITIES, Heat, Measured, heat, value_of
from gradscope.view.style import Style
from gradscope.view.theme import DARK, LIGHT, Theme, ink_on, ramp
from tests import by_hand

SECONDS = (1e-5, 1e-3, 1e-1)


def chain() -> Graph:
    """Three nodes, the first two of which keep the same storage."""
    kept = SavedTensor("self", by_hand.floats(4), 100, 0)
    nodes = [
        Node(number, f"{name}Backward0", 9 - number, by_hand.line(number), saved=(kept,) if number < 2 else ())
        for number, name in enumerate(("Sum", "Mul", "Sin"))
    ]
    return by_hand.measured(nodes, [Edge(0, 1), Edge(1, 2)])


def timed(name: str = "time", **about: object) -> Heat:
    runs = tuple(NodeRun(number, number, 0, 0.0, seconds) for number, seconds in enumerate(SECONDS))
    return heat(QUANTITIES[name], chain(), Measured(runs=runs, **about))  # type: ignore[arg-type]


def drawing(name: str = "time") -> Drawing:
    return draw(by_hand.scene(chain(), rules=Rules(fold=False), heat=timed(name)))


def test_a_box_of_several_nodes_has_the_sum_of_their_times() -> None:
    assert value_of(timed(), chain().nodes) == pytest.approx(sum(SECONDS))


def test_a_storage_that_two_nodes_keep_counts_once() -> None:
    assert value_of(timed("bytes"), chain().nodes) == 100


def test_the_scale_is_logarithmic_from_the_least_to_the_greatest() -> None:
    assert [box.heat for box in drawing().boxes] == [0.06, 0.5, 1.0]
    scale = drawing().scale
    assert scale is not None
    assert (scale.low, scale.high) == ("10 us", "100 ms")


def test_what_was_not_measured_has_no_colour_and_says_so() -> None:
    found = drawing("norm")
    assert {box.heat for box in found.boxes} == {UNMEASURED}
    assert found.scale is not None
    assert "nothing was measured" in found.scale.words


def test_a_parameter_has_the_share_that_its_step_changed() -> None:
    leaf = Node(0, "torch::autograd::AccumulateGrad", None, leaf="w")
    graph = by_hand.measured([leaf], [])
    assert heat(QUANTITIES["update"], graph, Measured(updates=(("w", 0.25),))).values == {0: 0.25}


@pytest.mark.parametrize("form", sorted({"dot", "svg", "mermaid"}))
def test_pictures_show_the_colours_and_the_scale(form: str) -> None:
    text = str(DRAWN[form].write(drawing(), Style(engine="auto" if form != "svg" else "builtin")))
    assert all(ramp(LIGHT, box.heat or 0.0) in text for box in drawing().boxes)
    assert "100 ms" in text


def test_a_drawing_without_a_scale_is_as_it_was() -> None:
    plain = draw(by_hand.scene(chain(), rules=Rules(fold=False)))
    assert plain.scale is None
    assert all(isinstance(box, Box) and box.heat is None for box in plain.boxes)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)
def test_words_can_be_read_on_every_colour_of_the_scale(theme: Theme) -> None:
    found = [ramp(theme, at / 100) for at in range(101)]
    assert min(contrast(colour, ink_on(colour)) for colour in found) >= 4.5
    assert all(one != other for one, other in itertools.pairwise(found[::5]))


def contrast(one: str, other: str) -> float:
    """As the guidelines for readable pages count it."""
    low, high = sorted(map(brightness, (one, other)))
    return (high + 0.05) / (low + 0.05)


def brightness(colour: str) -> float:
    parts = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
