"""A picture as a drawing that Graphviz has only to paint: a PDF with the letters of every script.

Shapes are its background in the xdot language. Words are nodes without a border, since text in a background brings
Graphviz 2.43 down; they are made smaller where the font that stands in for Helvetica is wider.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from graphviz import Digraph, escape, nohtml

from gradscope.render.metrics import width
from gradscope.render.picture import Picture
from gradscope.render.programs import run
from gradscope.render.shapes import Shape, Words, arrowhead, colours
from gradscope.view.theme import Theme

FONTS = {False: "Helvetica,Arial,sans-serif", True: "Helvetica,Arial,sans-serif bold"}
INCH = 72.0
LONGEST = 16_000  # characters that Graphviz 2.43 reads as one string
SAMPLE = "AddmmBackward0 float32[8, 32]"


def paint(program: str, picture: Picture, theme: Theme, scale: float) -> bytes:
    """The picture as PDF, `scale` times as large. Raises EngineFailed where Graphviz's `program` does."""
    return run(program, ["-Kneato", "-n2", "-Tpdf"], write(picture, theme, scale, _narrower(program)))


def write(picture: Picture, theme: Theme, scale: float, narrower: float = 1.0) -> str:
    """The drawing in DOT, where everything has its place; type is `narrower` times as large as its place says."""
    painter = _Painter(picture, theme, scale, narrower)
    graph = Digraph("gradscope", node_attr={"shape": "none", "margin": "0", "fixedsize": "true"})
    graph.attr(bgcolor=theme.paper, pad="0", margin="0")
    drawn = " ".join(painter.background()) + " "
    pieces = [f'"{drawn[at : at + LONGEST]}"' for at in range(0, len(drawn), LONGEST)]
    graph.body.append(f"\tgraph [_background={' + '.join(pieces)}]\n")
    graph.node("paper", label="", **painter.place(0.0, 0.0, picture.width, picture.height))
    for number, words in enumerate(one for part in picture.parts for one in part.shapes if isinstance(one, Words)):
        graph.node(f"w{number}", **painter.words(words))
    return str(graph.source)


@cache
def _narrower(program: str) -> float:
    """How much smaller type must be for Graphviz's font to be no wider than Helvetica."""
    sample = Digraph(node_attr={"shape": "plain", "margin": "0", "fontsize": "72", "fontname": FONTS[False]})
    sample.node("a", label=SAMPLE)
    _, _, _, _, inches, *_ = run(program, ["-Tplain"], str(sample.source)).decode().splitlines()[1].split(" ")
    return min(1.0, width(SAMPLE, 72) / (float(inches) * INCH))


class _Painter:
    """Turns shapes and words into Graphviz's, whose y grows upwards."""

    def __init__(self, picture: Picture, theme: Theme, scale: float, narrower: float) -> None:
        self._picture, self._theme, self._scale, self._narrower = picture, theme, scale, narrower

    def place(self, x: float, y: float, wide: float, high: float) -> dict[str, str]:
        """Where a node stands and how large it is; x and y are its upper left corner."""
        middle = (x + wide / 2) * self._scale, (self._picture.height - y - high / 2) * self._scale
        sides = {"width": f"{wide * self._scale / INCH:.4f}", "height": f"{high * self._scale / INCH:.4f}"}
        return {"pos": "{:.2f},{:.2f}".format(*middle), **sides}

    def words(self, words: Words) -> dict[str, str]:
        """A line of text as a node: as wide as the line where that is centred, else with what room is to its right."""
        wide = width(words.text, words.size, words.bold)
        left = words.x - (wide / 2 if words.centred else 0.0)
        if not words.centred:
            wide = min(2 * wide, self._picture.width - left)
        ink = colours(self._theme, words.paint).fill or self._theme.ink
        size = f"{words.size * self._scale * self._narrower:.2f}"
        label = nohtml(escape(words.text) + ("" if words.centred else "\\l"))
        place = self.place(left, words.y - words.size / 2, wide, words.size)
        return {"label": label, "fontsize": size, "fontname": FONTS[words.bold], "fontcolor": ink, **place}

    def background(self) -> Iterator[str]:
        """Every shape, in order."""
        for part in self._picture.parts:
            for shape in part.shapes:
                if isinstance(shape, Shape):
                    yield from self._shape(shape)

    def _shape(self, shape: Shape) -> Iterator[str]:
        look = colours(self._theme, shape.paint)
        border = look.border if shape.pen else None
        points = list(_curves(shape))
        if look.fill:
            yield f"C {_counted(look.fill)} c {_counted(look.fill)} b {self._points(points)}"
        if border:
            pen = f"S {_counted(f'setlinewidth({shape.pen * self._scale:.2f})')}"
            yield f"{pen} S {_counted(shape.line)} c {_counted(border)} B {self._points(points)} S {_counted('solid')}"
        if border and shape.head:
            yield f"C {_counted(border)} P {self._points([(x, y) for _, (x, y) in arrowhead(shape)[:3]])}"

    def _points(self, points: list[tuple[float, float]]) -> str:
        flipped = ((x * self._scale, (self._picture.height - y) * self._scale) for x, y in points)
        return f"{len(points)} {' '.join(f'{x:.2f} {y:.2f}' for x, y in flipped)}"


def _curves(shape: Shape) -> Iterator[tuple[float, float]]:
    """The way as one line of curves, a straight piece being one as well: a start, then three points each."""
    start = here = (0.0, 0.0)
    for command, numbers in shape.way:
        if command == "M":
            start = here = (numbers[0], numbers[1])
            yield here
        elif command == "C":
            yield from zip(numbers[::2], numbers[1::2], strict=True)
            here = (numbers[4], numbers[5])
        else:
            there = start if command == "Z" else (numbers[0], numbers[1])
            yield from (here, there, there)
            here = there


def _counted(text: str) -> str:
    """A string of xdot: its length in bytes goes before it."""
    return f"{len(text.encode())} -{text}"
