"""Wraps a tall layout into columns side by side, as text is set: a chain of 100 boxes then fits on a page.

It is cut only where no box is and few arrows pass. A frame that is cut goes on in the next column, below room for its
name, and an arrow that crosses a cut is led to the foot of its column, between the columns, and in at the head of the
next.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise

from gradscope.render.layout.geometry import Layout, Point, Rect, Route

GUTTER, LANE, ROOM = 34.0, 5.0, 16.0  # between columns, between arrows there, above and below a cut
LANES, TIGHT = 6, 2.4  # arrows side by side between columns; between them above and below a cut
HEAD = 20.0  # for the names of frames that go on
STEP = 6.0  # between the points of a curve that is cut
MOST_LED, MOST_LED_OF_TOWERS = 3, 6  # arrows across a cut that a reader can follow; where it is that or a tower

Curve = tuple[Point, Point, Point]


@dataclass(frozen=True, slots=True)
class Band:
    """A part of the layout from `top` to `bottom`, moved by `shift`; frames that go on begin `head` above it."""

    top: float
    bottom: float
    shift: Point
    width: float
    head: float = 0.0


def balanced(layout: Layout, columns: int, led: float = MOST_LED) -> Layout:
    """The layout in at most so many columns, the tallest as short as can be; `led` arrows at most cross a cut."""
    free = _free(layout, led)
    low, high = layout.height / columns, layout.height
    for _ in range(10):
        middle = (low + high) / 2
        cuts = _cuts(free, layout.height, middle)
        edges = [0.0, *cuts, layout.height]
        fits = len(cuts) < columns and max(end - start for start, end in pairwise(edges)) <= middle
        low, high = (low, middle) if fits else (middle, high)
    return wrapped(layout, _cuts(free, layout.height, high))


def wrapped(layout: Layout, cuts: list[float]) -> Layout:
    """The layout in columns that begin at the cuts; as it is without any."""
    if not cuts:
        return layout
    bands = _bands(layout, cuts)
    boxes = tuple(_moved(rect, bands[_band(rect.y + rect.height / 2, cuts)]) for rect in layout.boxes)
    clusters, parts = [], []
    for number, rect in enumerate(layout.clusters):
        first, *others = [_moved(_between(rect, band), band) for band in bands if _meets(rect, band)]
        clusters.append(first)
        parts += [(number, other) for other in others]
    lanes = [0] * len(bands)
    routes = tuple(_led(route, bands, cuts, lanes) for route in layout.routes)
    height = max(band.bottom - band.top + band.head for band in bands) + 2 * ROOM
    width = bands[-1].shift[0] + layout.width
    return Layout(width, height, boxes, tuple(clusters), routes, tuple(parts))


def _free(layout: Layout, led: float) -> list[float]:
    """Where the layout can be cut: between boxes, above the frames that begin there, with few arrows to lead."""
    free = []
    bottom = 0.0
    for rect in sorted(layout.boxes, key=lambda one: one.y):
        if rect.y - bottom > 4.0 and bottom:
            free.append(_beside_frames(layout, bottom, rect.y))
        bottom = max(bottom, rect.bottom)
    passing = _passing(layout, free)
    return [cut for cut, arrows in zip(free, passing, strict=True) if arrows <= led]


def _beside_frames(layout: Layout, start: float, end: float) -> float:
    """The place between two heights that cuts off no frame's name and leaves no end of a frame behind."""
    end = min([end, *(rect.y for rect in layout.clusters if start < rect.y < end)])
    start = max([start, *(rect.bottom for rect in layout.clusters if start < rect.bottom < end)])
    return (start + end) / 2


def _passing(layout: Layout, cuts: list[float]) -> list[int]:
    """How many arrows cross each cut."""
    changes = [0] * (len(cuts) + 1)
    for route in layout.routes:
        heights = [y for _, y in route.points]
        first, last = bisect_left(cuts, min(heights)), bisect_left(cuts, max(heights))
        changes[first] += 1
        changes[last] -= 1
    return list(accumulate(changes[:-1]))


def _cuts(free: list[float], height: float, tallest: float) -> list[float]:
    """The last free place of each column at most `tallest` high, as far as there is one."""
    cuts, top = [], 0.0
    for cut, following in pairwise([*free, height]):
        if following - top > tallest and cut > top:
            cuts.append(cut)
            top = cut
    return cuts


def _bands(layout: Layout, cuts: list[float]) -> list[Band]:
    edges = [0.0, *cuts, layout.height]
    bands = []
    for number, (top, bottom) in enumerate(pairwise(edges)):
        head = HEAD if any(rect.y < top < rect.bottom for rect in layout.clusters) else 0.0
        shift = number * (layout.width + GUTTER), ROOM + head - top
        bands.append(Band(top, bottom, shift, layout.width, head))
    return bands


def _band(y: float, cuts: list[float]) -> int:
    return sum(y > cut for cut in cuts)


def _meets(rect: Rect, band: Band) -> bool:
    return rect.y < band.bottom and rect.bottom > band.top


def _between(rect: Rect, band: Band) -> Rect:
    """What of a frame is in a band, with room for its name where it goes on."""
    top, bottom = rect.y if rect.y >= band.top else band.top - band.head, min(rect.bottom, band.bottom)
    return replace(rect, y=top, height=bottom - top)


def _moved(rect: Rect, band: Band) -> Rect:
    return replace(rect, x=rect.x + band.shift[0], y=rect.y + band.shift[1])


def _led(route: Route, bands: list[Band], cuts: list[float], lanes: list[int]) -> Route:
    """An arrow in its column, or from one to another."""
    first, last = _band(route.start[1], cuts), _band(route.end[1], cuts)
    if first == last and all(_band(point[1], cuts) == first for point in route.points):
        shift = bands[first].shift
        curves = tuple((_at(one, shift), _at(two, shift), _at(end, shift)) for one, two, end in route.curves)
        return Route(_at(route.start, shift), curves, _at(route.label, shift) if route.label else None)
    points = [_at(_held(point, bands[first]), bands[first].shift) for point in _until(route, first, cuts)]
    gutter = min(first, last)
    lane, lanes[gutter] = lanes[gutter] % LANES, lanes[gutter] + 1
    points += _across(bands[first], bands[last], lane, points[-1], _arrival(route, last, bands, cuts))
    points += [_at(_held(point, bands[last]), bands[last].shift) for point in _from(route, last, cuts)]
    label = points[0][0] + 4.0, points[0][1] + 8.0
    return Route(points[0], tuple(_straight(one, two) for one, two in pairwise(points)), label)


def _across(one: Band, other: Band, lane: int, start: Point, end: Point) -> list[Point]:
    """From the foot of a column through the gutter behind it to the head of a later one; back the other way round."""
    if one.shift[0] > other.shift[0]:
        return _across(other, one, lane, end, start)[::-1]
    foot, head = one.bottom + one.shift[1] + 2.0 + lane * TIGHT, 2.0 + lane * TIGHT
    aside = GUTTER / 2 + (lane - (LANES - 1) / 2) * LANE
    beside, before = one.shift[0] + one.width + aside, other.shift[0] - GUTTER + aside
    return [(start[0], foot), (beside, foot), (beside, head), (before, head), (end[0], head)]


def _until(route: Route, band: int, cuts: list[float]) -> list[Point]:
    found = []
    for point in route.sampled(STEP):
        if _band(point[1], cuts) != band:
            break
        found.append(point)
    return found or [route.start]


def _from(route: Route, band: int, cuts: list[float]) -> list[Point]:
    found = []
    for point in reversed(route.sampled(STEP)):
        if _band(point[1], cuts) != band:
            break
        found.append(point)
    return found[::-1] or [route.end]


def _arrival(route: Route, band: int, bands: list[Band], cuts: list[float]) -> Point:
    return _at(_from(route, band, cuts)[0], bands[band].shift)


def _held(point: Point, band: Band) -> Point:
    return point[0], min(max(point[1], band.top), band.bottom)


def _straight(start: Point, end: Point) -> Curve:
    third = (end[0] - start[0]) / 3, (end[1] - start[1]) / 3
    return (
        (start[0] + third[0], start[1] + third[1]),
        (end[0] - third[0], end[1] - third[1]),
        end,
    )


def _at(point: Point, shift: Point) -> Point:
    return point[0] + shift[0], point[1] + shift[1]
