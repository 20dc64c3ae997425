"""Where everything of a picture stands. Lengths are points; x grows to the right and y down."""

from __future__ import annotations

from dataclasses import dataclass

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Rect:
    """A rectangle by its upper left corner and its size."""

    x: float
    y: float
    width: float
    height: float

    @property
    def right(self) -> float:
        """The x of its right side."""
        return self.x + self.width

    @property
    def bottom(self) -> float:
        """The y of its lower side."""
        return self.y + self.height


@dataclass(frozen=True, slots=True)
class Route:
    """An arrow's way: a start, then cubic curves of two control points and an end each; `label` is near its middle."""

    start: Point
    curves: tuple[tuple[Point, Point, Point], ...]
    label: Point | None = None

    @property
    def end(self) -> Point:
        """Where the arrow's head is."""
        return self.curves[-1][2] if self.curves else self.start

    @property
    def points(self) -> tuple[Point, ...]:
        """Every point that the way is made of; none of it is outside of their hull."""
        return (self.start, *(point for curve in self.curves for point in curve))

    def sampled(self, apart: float) -> list[Point]:
        """Points on the way, at most about so far apart."""
        points, start = [self.start], self.start
        for one, two, end in self.curves:
            steps = max(1, int((abs(end[0] - start[0]) + abs(end[1] - start[1])) / apart))
            points += [_on_curve((start, one, two, end), step / steps) for step in range(1, steps + 1)]
            start = end
        return points


def _on_curve(corners: tuple[Point, Point, Point, Point], t: float) -> Point:
    """The point of a cubic curve at `t`, from 0 to 1."""
    s = 1 - t
    weights = s * s * s, 3 * s * s * t, 3 * s * t * t, t * t * t
    x = sum(weight * corner[0] for weight, corner in zip(weights, corners, strict=True))
    y = sum(weight * corner[1] for weight, corner in zip(weights, corners, strict=True))
    return x, y


@dataclass(frozen=True, slots=True)
class Layout:
    """Rectangles of boxes and clusters and the routes of arrows, in the order of the drawing's.

    `parts` are where a cluster, by its place, goes on in another column.
    """

    width: float
    height: float
    boxes: tuple[Rect, ...]
    clusters: tuple[Rect, ...]
    routes: tuple[Route, ...]
    parts: tuple[tuple[int, Rect], ...] = ()
