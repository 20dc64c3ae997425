"""The built-in layout: nothing overlaps, everything stands inside of what holds it, arrows end on their boxes."""

from __future__ import annotations

import random
from itertools import combinations

import pytest

from gradscope.render.layout.geometry import Layout, Point, Rect
from gradscope.render.layout.layered import sequence
from gradscope.render.layout.nested import lay_out
from gradscope.view.draw import draw
from gradscope.view.drawing import Arrow, Box, Cluster, Drawing
from gradscope.view.style import Direction
from tests import by_hand

NEAR = 0.01


def boxes(count: int, clusters: list[int | None] | None = None) -> tuple[Box, ...]:
    held = clusters or [None] * count
    return tuple(Box(f"b{number}", (), frozenset(), held[number]) for number in range(count))


def laid_out(drawing: Drawing, direction: Direction = Direction.DOWN) -> Layout:
    sizes = [(60.0 + 13 * (number % 5), 20.0 + 9 * (number % 4)) for number in range(len(drawing.boxes))]
    return lay_out(drawing, sizes, [40.0 + len(cluster.title) for cluster in drawing.clusters], direction)


def apart(one: Rect, other: Rect) -> bool:
    beside = one.right <= other.x + NEAR or other.right <= one.x + NEAR
    return beside or one.bottom <= other.y + NEAR or other.bottom <= one.y + NEAR


def inside(inner: Rect, outer: Rect) -> bool:
    across = outer.x - NEAR <= inner.x and inner.right <= outer.right + NEAR
    return across and outer.y - NEAR <= inner.y and inner.bottom <= outer.bottom + NEAR


def on_border(point: Point, rect: Rect, near: float) -> bool:
    x, y = point
    within = rect.x - near <= x <= rect.right + near and rect.y - near <= y <= rect.bottom + near
    gaps = (abs(x - rect.x), abs(x - rect.right), abs(y - rect.y), abs(y - rect.bottom))
    return within and min(gaps) <= near


def around(drawing: Drawing, cluster: int | None) -> set[int]:
    found: set[int] = set()
    while cluster is not None:
        found.add(cluster)
        cluster = drawing.clusters[cluster].around
    return found


def check(drawing: Drawing, layout: Layout, near: float = NEAR) -> None:
    """All that must hold of any layout; arrows may end `near` their boxes where lines are thick."""
    whole = Rect(0.0, 0.0, layout.width, layout.height)
    assert all(inside(rect, whole) for rect in (*layout.boxes, *layout.clusters))
    assert all(apart(one, other) for one, other in combinations(layout.boxes, 2))
    for number, cluster in enumerate(drawing.clusters):
        rect = layout.clusters[number]
        for box, at in zip(drawing.boxes, layout.boxes, strict=True):
            assert inside(at, rect) if number in around(drawing, box.cluster) else apart(at, rect)
        for other in range(number):
            assert (inside(rect, layout.clusters[other])) == (other in around(drawing, cluster.around))
    for arrow, route in zip(drawing.arrows, layout.routes, strict=True):
        assert on_border(route.start, layout.boxes[arrow.tail], near)
        assert on_border(route.end, layout.boxes[arrow.head], near)


def wild(seed: int) -> Drawing:
    """Boxes in nested clusters, arrows anywhere, in circles too."""
    dice = random.Random(seed)
    clusters = [Cluster(f"c{number}", dice.choice([None, *range(number)])) for number in range(dice.randint(0, 6))]
    places: list[int | None] = [None, *range(len(clusters))]
    count = dice.randint(1, 25)
    pairs = {(dice.randrange(count), dice.randrange(count)) for _ in range(dice.randint(0, 2 * count))}
    held = [dice.choice(places) for _ in range(count)]
    arrows = tuple(Arrow(tail, head) for tail, head in sorted(pairs) if tail != head)
    return Drawing("wild", boxes(count, held), arrows, tuple(clusters))


@pytest.mark.parametrize("direction", list(Direction), ids=lambda one: one.value)
def test_everything_has_its_place(direction: Direction) -> None:
    drawing = by_hand.everything()
    check(drawing, laid_out(drawing, direction))


@pytest.mark.parametrize("seed", range(40))
def test_wild_drawings_have_their_places_too(seed: int) -> None:
    drawing = wild(seed)
    check(drawing, laid_out(drawing, list(Direction)[seed % 4]))


def test_real_graphs() -> None:
    for graph in (by_hand.small(), by_hand.transformer(), by_hand.hostile()):
        drawing = draw(by_hand.scene(graph))
        check(drawing, laid_out(drawing))


def test_arrows_point_down_and_a_circle_is_cut_at_its_first_box() -> None:
    layout = laid_out(Drawing("", boxes(3), (Arrow(0, 1), Arrow(1, 2), Arrow(2, 0))))
    tops = [rect.y for rect in layout.boxes]
    assert tops == sorted(tops)
    assert layout.routes[2].start[1] > layout.routes[2].end[1]


def test_a_chain_is_straight() -> None:
    drawing = Drawing("", boxes(30), tuple(Arrow(number, number + 1) for number in range(29)))
    layout = laid_out(drawing)
    assert {round(rect.x + rect.width / 2, 3) for rect in layout.boxes} == {73.0 / 2 + 39.0 / 2}


def test_a_passing_arrow_crosses_no_box() -> None:
    """A skip past a block goes around it, although both ends stand in one column."""
    drawing = Drawing("", boxes(5), (Arrow(0, 1), Arrow(1, 2), Arrow(2, 3), Arrow(3, 4), Arrow(0, 4)))
    layout = laid_out(drawing)
    for point in layout.routes[4].points:
        crossed = [rect for rect in layout.boxes[1:4] if rect.x < point[0] < rect.right]
        assert all(not rect.y < point[1] < rect.bottom for rect in crossed)


def fan(count: int, length: int) -> Drawing:
    """A box, so many chains of some boxes beside each other, and a box in which they end."""
    arrows = [Arrow(0, 1 + chain * length) for chain in range(count)]
    arrows += [Arrow(at, at + 1) for at in range(1, count * length) if at % length]
    arrows += [Arrow((chain + 1) * length, count * length + 1) for chain in range(count)]
    return Drawing("", boxes(count * length + 2), tuple(arrows))


@pytest.mark.parametrize(("count", "length"), [(500, 1), (300, 2), (120, 3)])
def test_a_wide_fan_stands_in_rows(count: int, length: int) -> None:
    drawing = fan(count, length)
    layout = laid_out(drawing)
    check(drawing, layout)
    assert layout.width < 3 * layout.height
    assert all(layout.boxes[arrow.tail].bottom <= layout.boxes[arrow.head].y for arrow in drawing.arrows)


def test_arrows_to_the_rows_of_a_fan_cross_no_box() -> None:
    drawing = fan(120, 2)
    layout = laid_out(drawing)
    for arrow, route in zip(drawing.arrows, layout.routes, strict=True):
        others = (rect for at, rect in enumerate(layout.boxes) if at not in (arrow.tail, arrow.head))
        straight = [(one, end) for (_, one, end) in route.curves if one == end]
        crossed = [rect for rect in others for x, y in (end for _, end in straight) if inside(Rect(x, y, 0, 0), rect)]
        assert crossed == []


def test_wide_layers_of_which_each_leads_to_each_stand_in_rows() -> None:
    arrows = tuple(Arrow(upper, 60 + lower) for upper in range(60) for lower in range(60))
    drawing = Drawing("", boxes(120), arrows)
    layout = laid_out(drawing)
    check(drawing, layout)
    assert len({rect.y for rect in layout.boxes}) == 6


def test_up_is_down_turned_over() -> None:
    drawing = Drawing("", boxes(2), (Arrow(0, 1),))
    assert laid_out(drawing, Direction.UP).boxes[0].y > laid_out(drawing, Direction.UP).boxes[1].y
    right = laid_out(drawing, Direction.RIGHT)
    assert right.boxes[0].right < right.boxes[1].x


def test_nothing_at_all() -> None:
    assert laid_out(Drawing("", (), ())) == Layout(0.0, 0.0, (), (), ())


def test_boxes_that_nothing_connects_stand_in_rows() -> None:
    layout = laid_out(Drawing("", boxes(40), ()))
    assert len({rect.y for rect in layout.boxes}) == 5
    check(Drawing("", boxes(40), ()), layout)


@pytest.mark.parametrize("skips", [False, True])
def test_a_hundred_thousand_boxes(skips: bool) -> None:
    """No recursion; quadratic work would meet the suite's time limit. Arrows that skip far go straight then."""
    count = 100_000 if not skips else 20_000
    arrows = [Arrow(number, number + 1) for number in range(count - 1)]
    arrows += [Arrow(number, count - 1 - number) for number in range(0, 1000, 10)] if skips else []
    layout = laid_out(Drawing("", boxes(count), tuple(arrows)))
    assert layout.height > 30 * count


def test_clusters_nested_3000_deep() -> None:
    clusters = tuple(Cluster("c", number - 1 if number else None) for number in range(3000))
    layout = laid_out(Drawing("", boxes(2, [2999, None]), (Arrow(0, 1),), clusters))
    assert layout.routes[0].end[1] > layout.clusters[0].bottom


def test_the_order_of_a_graph_with_circles() -> None:
    assert sequence([0, 1, 2, 3], [(0, 1), (1, 2), (2, 1), (2, 3)]) == [0, 1, 2, 3]
    assert sequence([3, 2, 1, 0], []) == [3, 2, 1, 0]
