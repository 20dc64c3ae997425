"""Words beside arrows: none lies on another, on a box, or on a frame's name."""

from __future__ import annotations

from itertools import combinations

from gradscope.render.labels import BESIDE, HALF, SIZE, Labels, along, edges
from gradscope.render.layout.geometry import Rect, Route
from gradscope.render.metrics import width
from gradscope.view.words import TIMES

WORDS = f"{TIMES}12"


def straight(x: float, length: float = 200.0) -> Route:
    return Route((x, 0.0), (((x, length / 3), (x, length / 1.5), (x, length)),), (x, length / 2))


def placed(labels: Labels, *routes: Route) -> list[Rect]:
    points = [point for route in routes if (point := labels.place(route, WORDS)) is not None]
    return [Rect(x, y - HALF, width(WORDS, SIZE), 2 * HALF) for x, y in points]


def overlap(one: Rect, other: Rect) -> bool:
    return one.x < other.right and other.x < one.right and one.y < other.bottom and other.y < one.bottom


def test_arrows_that_go_together_have_their_words_below_each_other():
    found = placed(Labels([]), *(straight(10.0 + number) for number in range(6)))
    assert len(found) == 6
    assert not any(overlap(one, other) for one, other in combinations(found, 2))


def test_words_stand_clear_of_a_box():
    box = Rect(0.0, 60.0, 80.0, 80.0)
    (found,) = placed(Labels([box]), straight(10.0))
    assert not overlap(found, box)


def test_where_no_room_is_left_nothing_is_said():
    assert placed(Labels([Rect(-100.0, -100.0, 500.0, 500.0)]), straight(10.0)) == []


def test_alone_they_stand_where_the_layout_says():
    assert Labels([]).place(straight(10.0), WORDS) == (10.0 + BESIDE, 100.0)


def test_words_stand_clear_of_frames_edges_and_arrows_where_they_can() -> None:
    """Between two lanes there is no room; below the frame on the right of them there is."""
    frame, lanes = Rect(20.0, -20.0, 100.0, 160.0), [straight(10.0), straight(16.0)]
    lines = [*edges(frame), *along(lanes)]
    (found,) = placed(Labels([], lines), lanes[1])
    assert not any(overlap(found, line) for line in lines)


def test_words_stand_left_of_their_arrow_where_another_is_right_of_it() -> None:
    lanes = [straight(60.0), straight(70.0)]
    (found,) = placed(Labels([], along(lanes)), lanes[0])
    assert found.right < 60.0


def test_words_stand_on_a_line_rather_than_nowhere() -> None:
    lanes = [straight(10.0), straight(18.0)]
    assert len(placed(Labels([], along(lanes)), lanes[0])) == 1
