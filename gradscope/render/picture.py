"""A drawing with its layout as shapes and words with places, for every format that draws: heading, frames, arrows,
boxes, legend."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from gradscope.render.labels import SIZE, Labels, along, edges
from gradscope.render.layout.geometry import Layout, Point, Rect, Route
from gradscope.render.legend import legend
from gradscope.render.metrics import shorten, width, wrap
from gradscope.render.panel import NOTE, STRIP, Escape, Panel
from gradscope.render.shapes import ARROW, INK, PRUNED, QUIET, Paint, Shape, Words, has_strip, outline, rounded
from gradscope.view.drawing import Drawing
from gradscope.view.role import Role
from gradscope.view.theme import LIGHT, MARKS, look
from gradscope.view.words import TIMES, amount

MARGIN = 16.0
TITLE, CAPTION = 14.0, 11.0
NARROWEST = 420.0
TITLE_ROW = 22.0  # of a frame, at its top
ROW = 32.0  # of the index of where arrows pass


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


def compose(
    drawing: Drawing, panels: Sequence[Panel], layout: Layout, escape: Escape, narrowest: float = NARROWEST
) -> Picture:
    """Put everything in its place."""
    across = max(layout.width, narrowest)
    title, captions = escape(drawing.title), tuple(map(escape, drawing.captions))
    heading, top = _heading(title, captions, across)
    at = (MARGIN + (across - layout.width) / 2, top)
    keys, bottom = legend(drawing, escape, MARGIN, across, top + layout.height + 14.0)
    crossings = _crossings(layout, at)
    frames = (*layout.clusters, *(rect for _, rect in layout.parts))
    counted = any(arrow.count > 1 for arrow in drawing.arrows)
    lines = [*chain.from_iterable(map(edges, frames)), *along(layout.routes)] if counted else ()
    labels = Labels([*layout.boxes, *map(_title_row, frames)], lines)
    parts = [
        PicturePart("heading", tuple(heading)),
        *(_frame(drawing, number, _moved(rect, at), escape) for number, rect in _outermost_first(layout)),
        *(_arrow(drawing, number, route, at, labels) for number, route in enumerate(layout.routes)),
        *(_name(drawing, number, _moved(rect, at), escape, crossings) for number, rect in enumerate(layout.clusters)),
        *(_again(drawing, names, _moved(rect, at), escape, crossings) for names, rect in _going_on(drawing, layout)),
        *(_box(drawing, number, _moved(rect, at), panels[number]) for number, rect in enumerate(layout.boxes)),
        PicturePart("legend", tuple(keys)),
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
    shape = Shape(rounded(rect, 6.0), Paint("frame", cluster.roles), pen, line)
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
    return PicturePart("name", (Shape(rounded(plate, 2.0), Paint("plate", roles), 0.0), words))


def _clear(rect: Rect, across: float, crossings: Mapping[int, Sequence[Point]]) -> float:
    """The x nearest to a frame's left side where no arrow passes its name; the left side where one passes anyway."""
    rows = range(int(rect.y // ROW), int((rect.y + TITLE_ROW) // ROW) + 1)
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


def _title_row(frame: Rect) -> Rect:
    """The part of a frame where its name stands."""
    return Rect(frame.x, frame.y, frame.width, TITLE_ROW)


def _arrow(drawing: Drawing, number: int, route: Route, at: Point, labels: Labels) -> PicturePart:
    arrow = drawing.arrows[number]
    pruned = Role.PRUNED in arrow.roles
    way: list[tuple[str, tuple[float, ...]]] = [("M", _shift(route.start, at))]
    for one, two, end in route.curves:
        way.append(("C", (*_shift(one, at), *_shift(two, at), *_shift(end, at))))
    line = MARKS[Role.PRUNED].line or "solid"
    shapes: list[Shape | Words] = [
        Shape(tuple(way), PRUNED if pruned else ARROW, 1.2, line if pruned else "solid", head=True)
    ]
    if arrow.count == 1:
        return PicturePart("arrow", tuple(shapes))
    words = f"{TIMES}{arrow.count}"
    if (place := labels.place(route, words)) is not None:
        x, y = _shift(place, at)
        shapes.append(Words(x, y, words, SIZE, QUIET))
    return PicturePart("arrow", tuple(shapes), amount(arrow.count, "edge"))


def _box(drawing: Drawing, number: int, rect: Rect, panel: Panel) -> PicturePart:
    roles, heat = drawing.boxes[number].roles, drawing.boxes[number].heat
    shapes: list[Shape | Words] = list(outline(rect, roles, heat))
    inset = (rect.width - panel.width) / 2 + STRIP + (8.0 if Role.CUSTOM in roles else 0.0)
    for line in panel.lines:
        y = rect.y + line.y + (rect.height - panel.height) / 2
        if line.strip is not None and has_strip(line.strip):
            strip = Rect(rect.x + inset, y - 7.0, rect.width - 2 * inset, 14.0)
            shapes.append(Shape(rounded(strip, 2.0), Paint("strip", frozenset({line.strip})), 0.0))
        on_strip = line.strip is not None and has_strip(line.strip)
        paint = QUIET if line.quiet and heat is None else Paint("ink", heat=None if on_strip else heat)
        shapes.append(Words(rect.x + rect.width / 2, y, line.text, line.size, paint, line.bold, centred=True))
    return PicturePart("box", tuple(shapes), panel.tooltip)


def _moved(rect: Rect, at: Point) -> Rect:
    return Rect(rect.x + at[0], rect.y + at[1], rect.width, rect.height)


def _shift(point: Point, at: Point) -> Point:
    return point[0] + at[0], point[1] + at[1]
