"""Makes pictures that can be read where they are put: in columns where they are tall, and closed until they fit a page.

A page gives the size; type is never smaller than 7 points, so what does not fit is folded and not shrunk.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from gradscope.errors import UsageError
from gradscope.graphs.rules import MOST_BOXES, Rules
from gradscope.model.graph import Graph
from gradscope.model.printable import printable
from gradscope.render.engines import in_rows, lay_out
from gradscope.render.layout.columns import MOST_LED, MOST_LED_OF_TOWERS, balanced
from gradscope.render.layout.geometry import Layout
from gradscope.render.panel import NOTE, Escape, Panel, panel
from gradscope.render.picture import MARGIN, NARROWEST, Picture, compose
from gradscope.view.draw import draw
from gradscope.view.drawing import Drawing
from gradscope.view.scene import Scene
from gradscope.view.style import PAPERS, Direction, Paper, Style, silent
from gradscope.view.words import amount

SMALLEST_TYPE = 7.0
STEEPEST, TALLEST = 2.0, 8000.0  # of a picture without a page: height by width, and height
WIDEST, BESIDE = (
    1900.0,
    (20, 14, 10, 7, 5, 3),
)  # of what a screen shows; boxes side by side, where they would be too many
FREE = ("auto", "builtin")  # the engines that may be left, or told to make rows
UNEVEN = 1.3  # of columns: the tallest by the mean
UNITS = {"mm": 72 / 25.4, "cm": 72 / 2.54, "in": 72.0, "pt": 1.0, "": 1.0}
AROUND = 170.0  # a heading and a legend, about
MOST_COLUMNS = 12
COUNTS = (MOST_BOXES, 100, 70, 50, 35, 25, 18, 12, 8, 5, 3)


@dataclass(frozen=True, slots=True)
class Placed:
    """A picture, and by how much it is made smaller."""

    picture: Picture
    scale: float


def paper(words: str) -> Paper:
    """`a4`, `column`, `slide`, or a size such as 80x60mm. Raises UsageError for anything else."""
    known = PAPERS.get(words)
    if known is not None:
        return known
    size = words.lower().rstrip("abcdefghijklmnopqrstuvwyz")
    unit = words.lower()[len(size) :]
    width, _, height = size.partition("x")
    try:
        found = Paper(words, float(width) * UNITS[unit], float(height) * UNITS[unit])
    except (ValueError, KeyError):
        found = Paper(words, 0.0, 0.0)
    if not (72 <= found.width <= 14_400 and 72 <= found.height <= 14_400):
        sentence = f"--fit takes {', '.join(PAPERS)} or a size such as 160x90mm, from 1 to 200 inches; not {words!r}"
        raise UsageError(sentence, "units are mm, cm, in and pt")
    return found


def fitted(scene: Scene) -> Drawing:
    """The drawing of a scene, with as few boxes as its page wants; what was asked for and has no room is said."""
    page, rules = scene.style.page, scene.rules
    if page is None or not rules.fold:
        return draw(scene)
    quiet = replace(scene.style, say=silent)
    for chosen in _choices(scene.graph, rules):
        drawing = draw(replace(scene, rules=chosen))
        if place(drawing, quiet, printable).scale * NOTE >= SMALLEST_TYPE:
            break
    if rules.depth not in (None, chosen.depth):
        opened = f"as {amount(len(drawing.boxes), 'box')}" if chosen.depth is None else f"with --depth {chosen.depth}"
        smallest = f"type of {SMALLEST_TYPE:.0f} points"
        scene.style.say(f"--depth {rules.depth} does not fit on {page.name} with {smallest}: drawn {opened}")
    return drawing


def _choices(graph: Graph, rules: Rules) -> Iterator[Rules]:
    """From what was asked for to what is closed further and further: depth by depth, then with fewer boxes."""
    if rules.depth is not None:
        deepest = 1 + max((len(node.module.chain) for node in graph.nodes if node.module is not None), default=0)
        yield rules
        yield from (replace(rules, depth=depth) for depth in range(min(rules.depth - 1, deepest), 0, -1))
    yield from (replace(rules, depth=None, most=most) for most in COUNTS)


def place(drawing: Drawing, style: Style, escape: Escape, without: tuple[str, ...] = (), pages: bool = False) -> Placed:
    """A drawing as a picture: laid out, in columns where that makes it larger on its page.

    With `pages` one that cannot be read on a single page is left as it is, to be cut into several.
    """
    panels = [panel(box, escape) for box in drawing.boxes]
    sizes = [(one.width, one.height) for one in panels]
    layout = _no_strip(lay_out(drawing, sizes, style, without), drawing, sizes, style)
    best = max(_arrangements(layout, style), key=lambda one: _likely_scale(one, style.page))
    found = _placed(drawing, panels, best, escape, style.page)
    if style.page is not None and found.scale * NOTE < SMALLEST_TYPE:
        if pages:
            picture = compose(drawing, panels, layout, escape, _narrowest(style.page))
            return Placed(picture, max(SMALLEST_TYPE / NOTE, min(style.page.width / picture.width, 1.0)))
        style.say(f"type is {found.scale * NOTE:.1f} points on {style.page.name}: --depth and --focus show less")
    return found


def _no_strip(layout: Layout, drawing: Drawing, sizes: Sequence[tuple[float, float]], style: Style) -> Layout:
    """The layout, or where it is much wider than tall, the built-in one with as long rows as make it no strip."""
    if style.page is not None or style.engine not in FREE or style.direction not in (Direction.DOWN, Direction.UP):
        return layout
    if not _is_flat(layout):
        return layout
    style.say("that would be a strip: the built-in layout makes rows of it")
    rows = [layout]
    for beside in BESIDE:
        rows.append(in_rows(drawing, sizes, style, beside))
        if not _is_flat(rows[-1]):
            return rows[-1]
    return min(rows, key=lambda one: one.width / one.height)


def _is_flat(layout: Layout) -> bool:
    """Whether a picture of it would be wider than a screen and a strip there, or too wide to be looked at."""
    return layout.width > min(max(STEEPEST * (layout.height + AROUND), WIDEST), TALLEST)


def _arrangements(layout: Layout, style: Style) -> Iterator[Layout]:
    """The layout, and with a page in more and more columns; without one in as few as make it no tower."""
    if style.page is None and style.direction not in (Direction.LEFT, Direction.RIGHT):
        yield _no_tower(layout)
        return
    yield layout
    if style.page is not None and style.direction is Direction.DOWN:
        yield from (found for _, found in _in_columns(layout, MOST_LED))


def _in_columns(layout: Layout, led: float) -> Iterator[tuple[int, Layout]]:
    """The layout in more and more columns, as far as it can be cut."""
    for columns in range(2, MOST_COLUMNS + 1):
        found = balanced(layout, columns, led)
        if found is layout:
            return
        yield columns, found


def _no_tower(layout: Layout) -> Layout:
    """The layout in as few columns as make it no tower, with as few arrows from one to the next as can be."""
    if not _is_steep(layout):
        return layout
    for led in (MOST_LED, MOST_LED_OF_TOWERS, float("inf")):
        if led > MOST_LED_OF_TOWERS and layout.height <= TALLEST:
            break
        for columns, found in _in_columns(layout, led):
            if not _is_steep(found) or columns == MOST_COLUMNS:
                if _is_even(layout, found, columns) and (found.height <= TALLEST or led > MOST_LED_OF_TOWERS):
                    return found
                break
    return layout


def _is_steep(layout: Layout) -> bool:
    """Whether a picture of it would be too tall to be looked at, its heading and legend counted."""
    width = max(layout.width, NARROWEST) + 2 * MARGIN
    return layout.height + AROUND > STEEPEST * width or layout.height > TALLEST


def _is_even(layout: Layout, found: Layout, columns: int) -> bool:
    """Whether the columns share the height; a hole in a picture is worse than a picture that is a little tall."""
    return layout.height > TALLEST or found.height * columns <= UNEVEN * layout.height


def _likely_scale(layout: Layout, page: Paper | None) -> float:
    """About how small a layout gets on its page, with a heading and a legend."""
    if page is None:
        return 1.0
    return min(
        page.width / (max(layout.width, _narrowest(page)) + 2 * MARGIN), page.height / (layout.height + AROUND), 1.0
    )


def _narrowest(page: Paper) -> float:
    """The least width of a picture, for its heading: no more than a page has room for."""
    return min(NARROWEST, page.width * NOTE / SMALLEST_TYPE - 2 * MARGIN - 1.0)


def _placed(drawing: Drawing, panels: Sequence[Panel], layout: Layout, escape: Escape, page: Paper | None) -> Placed:
    if page is None:
        return Placed(compose(drawing, panels, layout, escape), 1.0)
    picture = compose(drawing, panels, layout, escape, _narrowest(page))
    return Placed(picture, min(page.width / picture.width, page.height / picture.height, 1.0))
