"""Where the words beside arrows stand: clear of boxes, of frames' names, and of each other; or nowhere.

Where there is such a place, also clear of frames' edges and of arrows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from gradscope.render.layout.geometry import Point, Rect, Route
from gradscope.render.metrics import width

SIZE = 9.5
BESIDE, HALF = 5.0, 5.5  # how far from the arrow they begin, and half of their height
APART = 14.0  # between the places on the way that are tried
MOST_TRIES = 60  # of a long way, spread over it
ROW = 32.0  # of the index of what is taken
FINE, THIN = 6.0, 0.8  # apart: the points of a line that words stand clear of; half of its width
MOST_LINES = 2_000  # arrows; among more nobody looks at each


class Labels:
    """Gives each arrow's words a place and remembers it."""

    def __init__(self, taken: Iterable[Rect], lines: Iterable[Rect] = ()) -> None:
        self._taken: dict[int, list[Rect]] = defaultdict(list)
        self._lines: dict[int, list[Rect]] = defaultdict(list)
        for rects, index in ((taken, self._taken), (lines, self._lines)):
            for rect in rects:
                for row in _rows(rect):
                    index[row].append(rect)

    def place(self, route: Route, text: str) -> Point | None:
        """Where words begin, right of a route or else left of it, as near to its middle as can be; None: nowhere."""
        sides = (
            [_right_of(point, text) for point in _places(route)],
            [_left_of(point, text) for point in _places(route)],
        )
        free = [rect for side in sides for rect in side if not _meets(rect, self._taken)]
        if not free:
            return None
        found = next((rect for rect in free if not _meets(rect, self._lines)), free[0])
        for row in _rows(found):
            self._taken[row].append(found)
        return found.x, found.y + HALF


def edges(rect: Rect) -> Iterator[Rect]:
    """The edges of a frame."""
    yield Rect(rect.x - THIN, rect.y - THIN, rect.width, 2 * THIN)
    yield Rect(rect.x - THIN, rect.bottom - THIN, rect.width, 2 * THIN)
    yield Rect(rect.x - THIN, rect.y - THIN, 2 * THIN, rect.height)
    yield Rect(rect.right - THIN, rect.y - THIN, 2 * THIN, rect.height)


def along(routes: Sequence[Route]) -> Iterator[Rect]:
    """What arrows cover."""
    for route in routes if len(routes) <= MOST_LINES else ():
        for x, y in route.sampled(FINE):
            yield Rect(x - THIN, y - THIN, 2 * THIN, 2 * THIN)


def _right_of(point: Point, text: str) -> Rect:
    """What words cover beside a point of their arrow."""
    return Rect(point[0] + BESIDE, point[1] - HALF, width(text, SIZE), 2 * HALF)


def _left_of(point: Point, text: str) -> Rect:
    across = width(text, SIZE)
    return Rect(point[0] - BESIDE - across, point[1] - HALF, across, 2 * HALF)


def _meets(rect: Rect, index: Mapping[int, Sequence[Rect]]) -> bool:
    return any(_overlap(rect, other) for row in _rows(rect) for other in index.get(row, ()))


def _places(route: Route) -> list[Point]:
    """The layout's own place, then the points of the way from its middle outwards."""
    points = route.sampled(APART)
    points = points[:: 1 + len(points) // MOST_TRIES]
    middle = (len(points) - 1) / 2
    nearest = sorted(range(len(points)), key=lambda at: (abs(at - middle), at))
    return [*([] if route.label is None else [route.label]), *(points[at] for at in nearest)]


def _rows(rect: Rect) -> range:
    return range(int(rect.y // ROW), int(rect.bottom // ROW) + 1)


def _overlap(one: Rect, other: Rect) -> bool:
    return one.x < other.right and other.x < one.right and one.y < other.bottom and other.y < one.bottom
