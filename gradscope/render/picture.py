"""A drawing with its layout as shapes and words with places, for every format that draws: heading, frames, arrows,
boxes, legend."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from gradscope.render.layout.geometry import Layout, Point, Rect, Route
from gradscope.render.metrics import shorten, width, wrap
from gradscope.render.panel import NOTE, STRIP, Escape, Panel
from gradscope.view.drawing import Drawing
from gradscope.view.role import Role
from gradscope.view.theme import LIGHT, MARKS, Colours, Mark, Theme, look
from gradscope.view.words import TIMES

MARGIN = 16.0
TITLE, CAPTION = 14.0, 11.0
NARROWEST = 420.0
SWATCH = (26.0, 13.0)
KEY = 17.0  # the height of a line of the legend
ROUND = 4.0
ROW = 32.0  # of the index of where arrows pass


@dataclass(frozen=True, slots=True)
class Paint:
    """What a shape stands for, to which a theme gives colours.

    `part` is paper, frame, plate, box, strip, arrow, ink or quiet.
    """

    part: str
    roles: frozenset[Role] = frozenset()


@dataclass(frozen=True, slots=True)
class Shape:
    """A way of moves (M), lines (L) and curves (C), open or closed (Z), with a pen; `head` puts an arrowhead on it."""

    way: tuple[tuple[str, tuple[float, ...]], ...]
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


@dataclass(frozen=True, slots=True)
class PicturePart:
    """What belongs together, with what a pointer's rest on it says."""

    kind: str
    shapes: tuple[Shape | Words, ...]
    tooltip: str = ""


@dataclass(frozen=True, slots=True)
class Picture:
    """All parts, those behind first."""

    width: float
    height: float
    title: str
    captions: tuple[str, ...]
    parts: tuple[PicturePart, ...]


INK, QUIET, ARROW = Paint("ink"), Paint("quiet"), Paint("arrow")
PRUNED = Paint("arrow", frozenset({Role.PRUNED}))


def colours(theme: Theme, paint: Paint) -> Colours:
    """The fill and the border of what a paint stands for."""
    if paint.part == "box":
        return look(theme, paint.roles)[0]
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


def has_strip(role: Role) -> bool:
    """Whether a row with this role has a colour behind it."""
    return role in LIGHT.looks and (LIGHT.looks[role].strip or LIGHT.looks[role].fill) is not None


def compose(
    drawing: Drawing, panels: Sequence[Panel], layout: Layout, escape: Escape, narrowest: float = NARROWEST
) -> Picture:
    """Put everything in its place."""
    across = max(layout.width, narrowest)
    title, captions = escape(drawing.title), tuple(map(escape, drawing.captions))
    heading, top = _heading(title, captions, across)
    at = (MARGIN + (across - layout.width) / 2, top)
    legend, bottom = _legend(drawing.roles, across, top + layout.height + 14.0)
    crossings = _crossings(layout, at)
    parts = [
        PicturePart("heading", tuple(heading)),
        *(_frame(drawing, number, _moved(rect, at), escape) for number, rect in _outermost_first(layout)),
        *(_arrow(drawing, number, route, at) for number, route in enumerate(layout.routes)),
        *(_name(drawing, number, _moved(rect, at), escape, crossings) for number, rect in enumerate(layout.clusters)),
        *(_again(drawing, chain, _moved(rect, at), escape, crossings) for chain, rect in _going_on(drawing, layout)),
        *(_box(drawing, number, _moved(rect, at), panels[number]) for number, rect in enumerate(layout.boxes)),
        PicturePart("legend", tuple(legend)),
    ]
    return Picture(across + 2 * MARGIN, bottom + MARGIN, title, captions, tuple(parts))


def _heading(title: str, captions: Sequence[str], across: float) -> tuple[list[Words], float]:
    """The title and the captions, and where they end."""
    words, y = [], MARGIN + 8.0
    for text in wrap(title, across / 1.1, TITLE):
        words.append(Words(MARGIN, y, shorten(text, 200), TITLE, INK, bold=True))
        y += 19.0
    for caption in captions:
        for text in wrap(caption, across / 1.06, CAPTION):
            words.append(Words(MARGIN, y, shorten(text, 300), CAPTION, QUIET))
            y += 15.0
    return words, y + 10.0


def _frame(drawing: Drawing, number: int, rect: Rect, escape: Escape) -> PicturePart:
    cluster = drawing.clusters[number]
    _, mark = look(LIGHT, cluster.roles)
    line, pen = (mark.line or "solid", mark.width or 1.0) if cluster.roles else ("solid", 1.0)
    shape = Shape(_rounded(rect, 6.0), Paint("frame", cluster.roles), pen, line)
    return PicturePart("frame", (shape,), escape(cluster.title))


def _name(
    drawing: Drawing, number: int, rect: Rect, escape: Escape, crossings: Mapping[int, Sequence[Point]]
) -> PicturePart:
    cluster = drawing.clusters[number]
    return _plate(shorten(escape(cluster.title)), cluster.roles, rect, crossings)


def _again(
    drawing: Drawing, chain: Sequence[int], rect: Rect, escape: Escape, crossings: Mapping[int, Sequence[Point]]
) -> PicturePart:
    """The names of frames that go on in another column, without their classes, the outermost first."""
    names = (escape(drawing.clusters[number].title.partition("  ")[0]) for number in chain)
    return _plate(f"… {shorten(' / '.join(names))}", drawing.clusters[chain[0]].roles, rect, crossings)


def _going_on(drawing: Drawing, layout: Layout) -> Iterator[tuple[list[int], Rect]]:
    """Frames that go on at the head of a column: the outermost of each, with those inside that it has to itself."""
    outermost: list[tuple[int, Rect]] = []
    inside: dict[tuple[int, float], list[tuple[int, Rect]]] = defaultdict(list)
    for number, rect in layout.parts:
        around = drawing.clusters[number].around
        outer = next((one for other, one in layout.parts if other == around and _holds(one, rect)), None)
        if around is None or outer is None:
            outermost.append((number, rect))
        else:
            inside[around, outer.x].append((number, rect))
    for number, rect in outermost:
        chain, inner = [number], rect
        while len(found := inside.get((chain[-1], inner.x), [])) == 1:
            chain.append(found[0][0])
            inner = found[0][1]
        yield chain, rect


def _outermost_first(layout: Layout) -> list[tuple[int, Rect]]:
    """Every frame and where it goes on: those inside lie on those around."""
    return sorted([*enumerate(layout.clusters), *layout.parts], key=lambda frame: frame[0])


def _holds(outer: Rect, inner: Rect) -> bool:
    """Whether one frame is around another in the same column."""
    return outer.x <= inner.x and inner.right <= outer.right


def _plate(text: str, roles: frozenset[Role], rect: Rect, crossings: Mapping[int, Sequence[Point]]) -> PicturePart:
    """A frame's name, on a plate of its own, beside the arrows that come in from above where there is room."""
    across = width(text, NOTE, bold=True) * 1.06 + 6.0
    plate = Rect(_clear(rect, across, crossings), rect.y + 5.0, across, 14.0)
    words = Words(plate.x + 3.0, rect.y + 12.0, text, NOTE, QUIET, bold=True)
    return PicturePart("name", (Shape(_rounded(plate, 2.0), Paint("plate", roles), 0.0), words))


def _clear(rect: Rect, across: float, crossings: Mapping[int, Sequence[Point]]) -> float:
    """The x nearest to a frame's left side where no arrow passes its name; the left side where one passes anyway."""
    rows = range(int(rect.y // ROW), int((rect.y + 22.0) // ROW) + 1)
    passing = sorted(x for row in rows for x, y in crossings.get(row, ()) if rect.y <= y <= rect.y + 22.0)
    places = [rect.x + 6.0, *(x + 5.0 for x in passing if rect.x < x)]
    free = (x for x in places if not any(x - 4.0 < other < x + across + 4.0 for other in passing))
    return next((x for x in free if x + across <= rect.right - 4.0), rect.x + 6.0)


def _crossings(layout: Layout, at: Point) -> dict[int, list[Point]]:
    """Points on the arrows, close to each other, by the row of the picture that they are in."""
    found: dict[int, list[Point]] = defaultdict(list)
    for route in layout.routes:
        for x, y in route.sampled(4.0):
            found[int((y + at[1]) // ROW)].append((x + at[0], y + at[1]))
    return found


def _arrow(drawing: Drawing, number: int, route: Route, at: Point) -> PicturePart:
    arrow = drawing.arrows[number]
    pruned = Role.PRUNED in arrow.roles
    way: list[tuple[str, tuple[float, ...]]] = [("M", _shift(route.start, at))]
    for one, two, end in route.curves:
        way.append(("C", (*_shift(one, at), *_shift(two, at), *_shift(end, at))))
    line = MARKS[Role.PRUNED].line or "solid"
    shapes: list[Shape | Words] = [
        Shape(tuple(way), PRUNED if pruned else ARROW, 1.2, line if pruned else "solid", head=True)
    ]
    if arrow.count > 1 and route.label is not None:
        x, y = _shift(route.label, at)
        shapes.append(Words(x + 5.0, y, f"{TIMES}{arrow.count}", 9.5, QUIET))
    return PicturePart("arrow", tuple(shapes))


def _box(drawing: Drawing, number: int, rect: Rect, panel: Panel) -> PicturePart:
    roles = drawing.boxes[number].roles
    shapes: list[Shape | Words] = list(_outline(rect, roles))
    inset = (rect.width - panel.width) / 2 + STRIP + (8.0 if Role.CUSTOM in roles else 0.0)
    for line in panel.lines:
        y = rect.y + line.y + (rect.height - panel.height) / 2
        if line.strip is not None and has_strip(line.strip):
            strip = Rect(rect.x + inset, y - 7.0, rect.width - 2 * inset, 14.0)
            shapes.append(Shape(_rounded(strip, 2.0), Paint("strip", frozenset({line.strip})), 0.0))
        paint = QUIET if line.quiet else INK
        shapes.append(Words(rect.x + rect.width / 2, y, line.text, line.size, paint, line.bold, centred=True))
    return PicturePart("box", tuple(shapes), panel.tooltip)


def _outline(rect: Rect, roles: frozenset[Role]) -> Iterator[Shape]:
    """The paper of a box in the shape of its roles."""
    _, mark = look(LIGHT, roles)
    paint, pen, line = Paint("box", roles), mark.width or 1.0, mark.line or "solid"
    if mark.shape == "hexagon":
        yield Shape(_hexagon(rect), paint, pen, line)
    elif mark.shape == "round":
        yield Shape(_rounded(rect, min(rect.height / 2, 14.0)), paint, pen, line)
    elif mark.shape == "folder":
        tab = Rect(rect.x, rect.y - 5.0, min(rect.width / 3, 40.0), 10.0)
        yield Shape(_rounded(tab, 3.0), paint, pen, line)
        yield Shape(_rounded(rect, 2.0), paint, pen, line)
    else:
        yield Shape(_rounded(rect, ROUND), paint, pen, line)
    if mark.shape == "double":
        inner = Rect(rect.x + 3.0, rect.y + 3.0, rect.width - 6.0, rect.height - 6.0)
        yield Shape(_rounded(inner, 2.0), paint, 1.0, line)


def _legend(roles: Sequence[Role], across: float, top: float) -> tuple[list[Shape | Words], float]:
    """A swatch and words for each role that appears, in as many columns as fit; and where that ends."""
    shapes: list[Shape | Words] = []
    keyed = [role for role in roles if role in LIGHT.looks]
    if not keyed:
        return shapes, top
    words = [_key_words(role) for role in keyed]
    column = SWATCH[0] + 8.0 + max(width(text, NOTE) for text in words) * 1.06 + 18.0
    columns = max(1, min(int(across // column), 3))
    rows = -(-len(keyed) // columns)
    for place, (role, text) in enumerate(zip(keyed, words, strict=True)):
        x, y = MARGIN + column * (place // rows), top + KEY * (place % rows)
        shapes += _swatch(Rect(x, y, *SWATCH), role)
        shapes.append(Words(x + SWATCH[0] + 8.0, y + SWATCH[1] / 2, text, NOTE, QUIET))
    return shapes, top + KEY * rows


def _key_words(role: Role) -> str:
    words = MARKS[role].words if role in MARKS else ""
    return f"{role.value} ({words})" if words else role.value


def _swatch(rect: Rect, role: Role) -> Iterator[Shape]:
    """A little box, line or strip that looks like the role."""
    if role is Role.PRUNED:
        y = rect.y + rect.height / 2
        yield Shape((("M", (rect.x, y)), ("L", (rect.right - 3.0, y))), PRUNED, 1.2, "dotted", head=True)
        return
    mark = MARKS.get(role, Mark())
    own = LIGHT.looks[role]
    strip = own.strip is not None and own.fill is None
    if strip and own.border is None:
        yield Shape(_rounded(rect, 2.0), Paint("strip", frozenset({role})), 0.0)
        return
    tab = 4.0 if mark.shape == "folder" else 0.0  # stands out above
    yield from _outline(Rect(rect.x, rect.y + tab, rect.width, rect.height - tab), frozenset({role}))
    if strip:
        inner = Rect(rect.x + 3.0, rect.y + 3.0, rect.width - 6.0, rect.height - 6.0)
        yield Shape(_rounded(inner, 1.0), Paint("strip", frozenset({role})), 0.0, mark.line or "solid")


def _rounded(rect: Rect, radius: float) -> tuple[tuple[str, tuple[float, ...]], ...]:
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


def _hexagon(rect: Rect) -> tuple[tuple[str, tuple[float, ...]], ...]:
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


def _moved(rect: Rect, at: Point) -> Rect:
    return Rect(rect.x + at[0], rect.y + at[1], rect.width, rect.height)


def _shift(point: Point, at: Point) -> Point:
    return point[0] + at[0], point[1] + at[1]
