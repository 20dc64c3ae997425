"""PDF, from the same shapes as the SVG.

The surprise in writing it here: only Helvetica is there without carrying a font along, and it has Western European
letters. A picture with others is painted by `dot` where that is installed; else they are escapes, which is said.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Sequence

from gradscope.model.printable import printable
from gradscope.render import engines, xdot
from gradscope.render.fit import Placed, place
from gradscope.render.metrics import shorten, width
from gradscope.render.pages import Leaf, leaves
from gradscope.render.picture import Picture
from gradscope.render.programs import EngineFailed
from gradscope.render.shapes import Shape, Way, Words, arrowhead, colours
from gradscope.view.drawing import Drawing
from gradscope.view.style import Paper, Style
from gradscope.view.theme import Theme

LETTERS = {"⋮": "...", "→": "->", "✗": "x"}
LARGEST = 14_400.0  # points: readers refuse larger pages
SHEET, UPRIGHT = 5_000.0, 2**0.5  # the sides of pages of a picture that is larger
FOOT = 16.0  # of a page among others, with its number
FIRST_PAGE = 7  # the number of its object
DASHES = {"dashed": "[5 3]", "dotted": "[1.5 3]"}
OPERATORS = {"M": "m", "L": "l", "C": "c", "Z": "h"}


def picture(drawing: Drawing, style: Style) -> bytes:
    """A drawing as PDF."""
    words = _text_of(drawing)
    if letters(words) != words and not engines.is_large(drawing):
        painted = _painted(drawing, style)
        if painted is not None:
            return painted
    if letters(words) != words:
        style.say("letters that Helvetica lacks stand as escapes: `dot` has them, and so has an svg")
    placed = place(drawing, style, letters, pages=True)
    pages = _pages(placed, style.page)
    if len(pages) > 1:
        style.say(f"the picture is in {len(pages)} pages, whose type can be read: --depth and --focus show less")
    return write(placed.picture, style.theme, placed.scale, pages)


def _painted(drawing: Drawing, style: Style) -> bytes | None:
    """The same picture with every letter, painted by `dot`; none where that cannot be or it has several pages."""
    for engine, program in engines.programs(style):
        if engine == "pure":
            continue  # it writes no PDF
        placed = place(drawing, style, printable, pages=True)
        if len(_pages(placed, style.page)) > 1:
            return None
        try:
            return xdot.paint(program, placed.picture, style.theme, placed.scale)
        except EngineFailed as error:
            engines.refuse(style, engine, error)
    return None


def _pages(placed: Placed, paper: Paper | None) -> list[Leaf]:
    """The pages: the paper that was asked for, where not even its least type fits; else as large as readers take."""
    picture, scale = placed.picture, placed.scale
    width, height = picture.width * scale, picture.height * scale
    if paper is not None and (width > paper.width + 0.5 or height > paper.height + 0.5):
        return leaves(picture, paper.width / scale, (paper.height - FOOT) / scale)
    if max(width, height) > LARGEST:
        wide = min(width, SHEET)
        return leaves(picture, wide / scale, (min(wide * UPRIGHT, SHEET) - FOOT) / scale)
    return leaves(picture, picture.width, picture.height)


def _text_of(drawing: Drawing) -> str:
    """All words in the drawing that may be of any script."""
    boxes = (word for box in drawing.boxes for word in (box.title, *box.notes, *(row.text for row in box.rows)))
    said = "".join((drawing.title, *boxes, *(cluster.title for cluster in drawing.clusters)))
    return "".join(LETTERS.get(letter, letter) for letter in said)


def letters(text: str) -> str:
    """The text in letters that Helvetica has; others as escapes."""
    return "".join(map(_letter, printable(text)))


def _letter(character: str) -> str:
    character = LETTERS.get(character, character)
    try:
        character.encode("cp1252")
    except UnicodeEncodeError:
        return character.encode("unicode_escape").decode("ascii")
    return character


def write(picture: Picture, theme: Theme, scale: float, pages: Sequence[Leaf]) -> bytes:
    """The document. All pages share the picture, of which each shows its part."""
    font = "<< /Type /Font /Subtype /Type1 /BaseFont /{} /Encoding /WinAnsiEncoding >>"
    info = f"<< /Title ({_string(letters(picture.title))}) /Producer (gradscope) >>"
    kids = " ".join(f"{FIRST_PAGE + 2 * number} 0 R" for number in range(len(pages)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>".encode(),
        font.format("Helvetica").encode(),
        font.format("Helvetica-Bold").encode(),
        _stream(["1 j", *_content(picture, theme)]),
        info.encode("cp1252", "replace"),
    ]
    for number, page in enumerate(pages):
        foot = FOOT if len(pages) > 1 else 0.0
        size = f"{page.width * scale:.1f} {page.height * scale + foot:.1f}"
        contents = f"{FIRST_PAGE + 2 * number + 1} 0 R 5 0 R"
        objects += [
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {size}] /Contents [{contents}] "
            "/Resources << /Font << /F1 3 0 R /F2 4 0 R >> >> >>".encode(),
            _stream(_opening(picture, theme, scale, page, foot)),
        ]
    return _file(objects, info=6)


def _opening(picture: Picture, theme: Theme, scale: float, page: Leaf, foot: float) -> Iterator[str]:
    """What a page draws before the picture: paper, its number, and where the picture lies and ends."""
    width, height = page.width * scale, page.height * scale
    yield f"{_colour(theme.paper)} rg 0 0 {width:.1f} {height + foot:.1f} re f"
    if foot:
        words = f"{picture.title}, page {page.place}"
        yield f"BT {_colour(theme.quiet)} rg /F1 8 Tf 16 6 Td ({_string(shorten(letters(words), 90))}) Tj ET"
    yield f"0 {foot:.1f} {width:.1f} {height:.1f} re W n"
    below = picture.height - page.y - page.height
    yield f"{scale:.5f} 0 0 {scale:.5f} {-page.x * scale:.2f} {foot - below * scale:.2f} cm"


def _stream(lines: Iterable[str]) -> bytes:
    """A stream of operators."""
    packed = zlib.compress("\n".join(lines).encode("cp1252", "replace"))
    return f"<< /Length {len(packed)} /Filter /FlateDecode >>\nstream\n".encode() + packed + b"\nendstream"


def _file(objects: list[bytes], info: int) -> bytes:
    """The objects with the table of where each begins; number `info` describes the document."""
    text = b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n"
    places = []
    for number, each in enumerate(objects, 1):
        places.append(len(text))
        text += b"%d 0 obj\n" % number + each + b"\nendobj\n"
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    count = len(objects) + 1
    return (
        text
        + b"xref\n0 %d\n0000000000 65535 f \n" % count
        + table
        + b"trailer\n<< /Size %d /Root 1 0 R /Info %d 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (count, info, len(text))
    )


def _content(picture: Picture, theme: Theme) -> Iterator[str]:
    for part in picture.parts:
        for one in part.shapes:
            yield from _shape(one, picture, theme) if isinstance(one, Shape) else _words(one, picture, theme)


def _shape(shape: Shape, picture: Picture, theme: Theme) -> Iterator[str]:
    """A path, filled, stroked or both; an arrow's head is a triangle in its last direction."""
    look = colours(theme, shape.paint)
    stroke = look.border if shape.pen else None
    if look.fill:
        yield f"{_colour(look.fill)} rg"
    if stroke:
        yield f"{_colour(stroke)} RG {shape.pen:.1f} w {DASHES.get(shape.line, '[]')} 0 d"
    yield _way(shape.way, picture.height)
    yield "B" if look.fill and stroke else "f" if look.fill else "S"
    if shape.head and stroke:
        yield f"{_colour(stroke)} rg {_way(arrowhead(shape), picture.height)} f"


def _way(way: Way, height: float) -> str:
    """A PDF's y grows upwards."""
    steps = ((OPERATORS[command], enumerate(numbers)) for command, numbers in way)
    return " ".join(
        " ".join([*(f"{height - value if place % 2 else value:.1f}" for place, value in numbers), operator])
        for operator, numbers in steps
    )


def _words(words: Words, picture: Picture, theme: Theme) -> Iterator[str]:
    ink = colours(theme, words.paint).fill or theme.ink
    x = words.x - (width(words.text, words.size, words.bold) / 2 if words.centred else 0.0)
    y = picture.height - words.y - words.size * 0.35
    font = f"/F{2 if words.bold else 1} {words.size:.1f} Tf"
    yield f"BT {_colour(ink)} rg {font} {x:.1f} {y:.1f} Td ({_string(words.text)}) Tj ET"


def _string(text: str) -> str:
    return text.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")


def _colour(name: str) -> str:
    return " ".join(f"{int(name[at : at + 2], 16) / 255:.3f}" for at in (1, 3, 5))
