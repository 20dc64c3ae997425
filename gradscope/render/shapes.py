"""What pictures are made of: shapes and words that stand for something, to which a theme gives colours."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gradscope.render.layout.geometry import Rect
from gradscope.view.role import Role
from gradscope.view.theme import LIGHT, Colours, Theme, ink_on, look, ramp

ROUND = 4.0
HEAD = 7.0  # the length of an arrow's head
Way = tuple[tuple[str, tuple[float, ...]], ...]


@dataclass(frozen=True, slots=True)
class Paint:
    """What a shape stands for, to which a theme gives colours.

    `part` is paper, frame, plate, box, strip, arrow, ink, quiet, or scale, a part of one. `heat` is a place on it.
    """

    part: str
    roles: frozenset[Role] = frozenset()
    heat: float | None = None


@dataclass(frozen=True, slots=True)
class Shape:
    """A way of moves (M), lines (L) and curves (C), open or closed (Z), with a pen; `head` puts an arrowhead on it."""

    way: Way
    paint: Paint
    pen: float = 1.0
    line: str = "solid"
    head: bool = False


@dataclass(frozen=True, slots=True)
class Words:
    """A line of text; `x` is its start, or its middle when `centred`, and `y` its middle."""

    x: float
    y: float
    text: str
    size: float
    paint: Paint
    bold: bool = False
    centred: bool = False


INK, QUIET, ARROW = Paint("ink"), Paint("quiet"), Paint("arrow")
PRUNED = Paint("arrow", frozenset({Role.PRUNED}))


def colours(theme: Theme, paint: Paint) -> Colours:
    """The fill and the border of what a paint stands for."""
    if paint.heat is not None or paint.part == "box":
        return _box_colours(theme, paint)
    if paint.part == "strip":
        (role,) = paint.roles
        return Colours(theme.looks[role].strip or theme.looks[role].fill)
    if paint.part == "frame":
        own = look(theme, paint.roles)[0] if paint.roles else None
        return own or Colours(theme.frame, theme.frame_border)
    if paint.part == "plate":
        return Colours(colours(theme, Paint("frame", paint.roles)).fill)
    if paint.part == "arrow":
        border = theme.looks[Role.PRUNED].border if paint.roles else theme.arrow
        return Colours(None, border)
    return Colours({"paper": theme.paper, "ink": theme.ink, "quiet": theme.quiet}[paint.part])


def _box_colours(theme: Theme, paint: Paint) -> Colours:
    """Those of a box, or of a part of the scale, and of the words on it."""
    own = look(theme, paint.roles)[0]
    if paint.heat is None:
        return own
    fill = ramp(theme, paint.heat)
    if paint.part == "ink":
        return Colours(ink_on(fill))
    return Colours(fill, own.border if paint.part == "box" else None)


def has_strip(role: Role) -> bool:
    """Whether a row with this role has a colour behind it."""
    return role in LIGHT.looks and (LIGHT.looks[role].strip or LIGHT.looks[role].fill) is not None


def outline(rect: Rect, roles: frozenset[Role], heat: float | None = None) -> Iterator[Shape]:
    """The paper of a box in the shape of its roles."""
    _, mark = look(LIGHT, roles)
    paint, pen, line = Paint("box", roles, heat), mark.width or 1.0, mark.line or "solid"
    if mark.shape == "hexagon":
        yield Shape(hexagon(rect), paint, pen, line)
    elif mark.shape == "round":
        yield Shape(rounded(rect, min(rect.height / 2, 14.0)), paint, pen, line)
    elif mark.shape == "folder":
        tab = Rect(rect.x, rect.y - 5.0, min(rect.width / 3, 40.0), 10.0)
        yield Shape(rounded(tab, 3.0), paint, pen, line)
        yield Shape(rounded(rect, 2.0), paint, pen, line)
    else:
        yield Shape(rounded(rect, ROUND), paint, pen, line)
    if mark.shape == "double":
        inner = Rect(rect.x + 3.0, rect.y + 3.0, rect.width - 6.0, rect.height - 6.0)
        yield Shape(rounded(inner, 2.0), paint, 1.0, line)


def rounded(rect: Rect, radius: float) -> Way:
    """A rectangle with round corners."""
    r, k = radius, radius * 0.4477  # of a circle's arc, as a curve
    left, top, right, bottom = rect.x, rect.y, rect.right, rect.bottom
    return (
        ("M", (left + r, top)),
        ("L", (right - r, top)),
        ("C", (right - k, top, right, top + k, right, top + r)),
        ("L", (right, bottom - r)),
        ("C", (right, bottom - k, right - k, bottom, right - r, bottom)),
        ("L", (left + r, bottom)),
        ("C", (left + k, bottom, left, bottom - k, left, bottom - r)),
        ("L", (left, top + r)),
        ("C", (left, top + k, left + k, top, left + r, top)),
        ("Z", ()),
    )


def arrowhead(shape: Shape) -> Way:
    """The head of an arrow: a triangle in its last direction, whose point is its end."""
    points = [(numbers[at], numbers[at + 1]) for _, numbers in shape.way for at in range(0, len(numbers), 2)]
    last = points[-1]
    back = next((point for point in reversed(points) if point != last), points[0])
    x, y = last[0] - back[0], last[1] - back[1]
    long = max((x * x + y * y) ** 0.5, 1e-6)
    x, y = HEAD * x / long, HEAD * y / long
    sides = (last[0] - x - y / 2, last[1] - y + x / 2), (last[0] - x + y / 2, last[1] - y - x / 2)
    return ("M", last), ("L", sides[0]), ("L", sides[1]), ("Z", ())


def hexagon(rect: Rect) -> Way:
    """A box whose sides are points."""
    corner, middle = min(rect.height / 2, 10.0), rect.y + rect.height / 2
    points = (
        (rect.x, middle),
        (rect.x + corner, rect.y),
        (rect.right - corner, rect.y),
        (rect.right, middle),
        (rect.right - corner, rect.bottom),
        (rect.x + corner, rect.bottom),
    )
    return (("M", points[0]), *(("L", point) for point in points[1:]), ("Z", ()))
