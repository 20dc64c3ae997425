"""Where the words beside arrows stand: clear of boxes, of frames' names, and of each other; or nowhere."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from gradscope.render.layout.geometry import Point, Rect, Route
from gradscope.render.metrics import width

SIZE = 9.5
BESIDE, HALF = 5.0, 5.5  # how far from the arrow they begin, and half of their height
APART = 14.0  # between the places on the way that are tried
MOST_TRIES = 60  # of a long way, those nearest to its middle
ROW = 32.0  # of the index of what is taken


class Labels:
    """Gives each arrow's words a place and remembers it."""

    def __init__(self, taken: Iterable[Rect]) -> None:
        self._taken: dict[int, list[Rect]] = defaultdict(list)
        for rect in taken:
            self._take(rect)

    def place(self, route: Route, text: str) -> Point | None:
        """The point of a route beside which words have room, as near to its middle as can be; None: there is none."""
        for point in _places(route):
            rect = Rect(point[0] + BESIDE, point[1] - HALF, width(text, SIZE), 2 * HALF)
            if not any(_overlap(rect, other) for row in _rows(rect) for other in self._taken.get(row, ())):
                self._take(rect)
                return point
        return None

    def _take(self, rect: Rect) -> None:
        for row in _rows(rect):
            self._taken[row].append(rect)


def _places(route: Route) -> list[Point]:
    """The layout's own place, then the points of the way from its middle outwards."""
    points = route.sampled(APART)
    middle = (len(points) - 1) / 2
    nearest = sorted(range(len(points)), key=lambda at: (abs(at - middle), at))[:MOST_TRIES]
    return [*([] if route.label is None else [route.label]), *(points[at] for at in nearest)]


def _rows(rect: Rect) -> range:
    return range(int(rect.y // ROW), int(rect.bottom // ROW) + 1)


def _overlap(one: Rect, other: Rect) -> bool:
    return one.x < other.right and other.x < one.right and one.y < other.bottom and other.y < one.bottom
