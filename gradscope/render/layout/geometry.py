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


@dataclass(frozen=True, slots=True)
class Layout:
    """Rectangles of boxes and clusters and the routes of arrows, in the order of the drawing's."""

    width: float
    height: float
    boxes: tuple[Rect, ...]
    clusters: tuple[Rect, ...]
    routes: tuple[Route, ...]
