"""SVG, PDF and PNG: well-formed, nothing clipped, nothing hostile, on graphs of every shape, by every engine."""

from __future__ import annotations

import re
import shutil
import zlib
from collections.abc import Iterator
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from gradscope.errors import UsageError
from gradscope.model.graph import Graph
from gradscope.render import mermaid, pdf, png, svg, xdot
from gradscope.render.drawn import DRAWN
from gradscope.render.fit import fitted, paper, place
from gradscope.render.formats import FORMATS
from gradscope.render.metrics import shorten, width, wrap
from gradscope.render.programs import find, run
from gradscope.render.shapes import Words
from gradscope.view.draw import draw
from gradscope.view.drawing import Box, Drawing
from gradscope.view.style import Direction, Style
from gradscope.view.theme import DARK, LIGHT
from tests import by_hand

SVG = "{http://www.w3.org/2000/svg}"
BUILTIN = Style(engine="builtin")
needs_dot = pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")
GRAPHS = {
    "empty": by_hand.measured([], []),
    "one": by_hand.chain(1),
    "small": by_hand.small(),
    "hostile": by_hand.hostile(),
    "transformer": by_hand.transformer(),
    "chain": by_hand.chain(10_000),
    "fan": by_hand.fan(2000, alike=False),
}
every_graph = pytest.mark.parametrize("graph", GRAPHS.values(), ids=list(GRAPHS))


def parsed(text: str) -> ElementTree.Element:
    return ElementTree.fromstring(text)


def of_class(root: ElementTree.Element, name: str) -> Iterator[ElementTree.Element]:
    return (part for part in root.iter(f"{SVG}g") if part.get("class") == name)


def numbers(text: str) -> list[float]:
    return [float(word) for word in re.findall(r"-?\d+(?:\.\d+)?", text)]


def extent(part: ElementTree.Element) -> tuple[float, float, float, float]:
    """Left, top, right and bottom of the shapes of a part."""
    points = [number for path in part.iter(f"{SVG}path") for number in numbers(path.get("d", ""))]
    return min(points[::2]), min(points[1::2]), max(points[::2]), max(points[1::2])


@pytest.mark.parametrize("engine", ["builtin", pytest.param("dot", marks=needs_dot)])
@every_graph
def test_every_label_is_inside_its_box(graph: Graph, engine: str) -> None:
    root = parsed(svg.picture(draw(by_hand.scene(graph)), Style(engine=engine)))
    for part in of_class(root, "box"):
        left, top, right, bottom = extent(part)
        for text in part.iter(f"{SVG}text"):
            half = width(text.text or "", float(text.get("font-size", 0)), text.get("font-weight") == "bold") / 2
            x, y = float(text.get("x", 0)), float(text.get("y", 0))
            assert left <= x - half, text.text
            assert x + half <= right, text.text
            assert top < y < bottom


@every_graph
def test_everything_is_on_the_page(graph: Graph) -> None:
    root = parsed(svg.picture(draw(by_hand.scene(graph)), BUILTIN))
    _, _, across, down = numbers(root.get("viewBox", ""))
    for part in root.iter(f"{SVG}g"):
        if list(part.iter(f"{SVG}path")):
            left, top, right, bottom = extent(part)
            assert left >= 0
            assert top >= 0
            assert right <= across
            assert bottom <= down


def test_a_legend_explains_every_role_that_appears() -> None:
    drawing = by_hand.everything()
    root = parsed(svg.picture(drawing, BUILTIN))
    (legend,) = of_class(root, "legend")
    words = [text.text or "" for text in legend.iter(f"{SVG}text")]
    assert all(any(text.startswith(role.value) for text in words) for role in drawing.roles)


def test_hostile_names_stay_words() -> None:
    text = svg.picture(draw(by_hand.scene(by_hand.hostile())), BUILTIN)
    root = parsed(text)
    assert {part.tag.removeprefix(SVG) for part in root.iter()} <= {
        *("svg", "g", "path", "text", "title", "desc", "style", "defs", "marker", "rect"),
    }
    assert "{brace|pipe} <angle> &amp; <script>alert(1)</script>" in [part.text for part in root.iter(f"{SVG}text")]
    assert not any(character in text for character in "\x1b\x07\x00\u202e")


def test_a_long_name_is_shortened_and_whole_in_the_tooltip() -> None:
    name = "a" * 200 + "Backward0"
    root = parsed(svg.picture(Drawing("t", (Box(name, (), frozenset()),), ()), BUILTIN))
    (box,) = of_class(root, "box")
    assert box.findtext(f"{SVG}title") == name
    assert len(box.findtext(f"{SVG}text") or "") < 60


def test_themes() -> None:
    drawing = by_hand.everything()
    light, dark = (svg.picture(drawing, Style(theme=theme, engine="builtin")) for theme in (LIGHT, DARK))
    assert LIGHT.paper in light
    assert DARK.paper in dark
    assert "prefers-color-scheme" not in light + dark
    both = svg.picture(drawing, Style(dark=DARK, engine="builtin"))
    assert "@media (prefers-color-scheme: dark)" in both
    assert LIGHT.paper in both
    assert DARK.paper in both


def dot() -> str:
    program = find("dot")
    assert program is not None
    return program


def content(file: bytes) -> str:
    """The drawing operators of a PDF that was written here."""
    stream = file.partition(b"stream\n")[2].partition(b"\nendstream")[0]
    return zlib.decompress(stream).decode("cp1252")


@every_graph
def test_a_pdf_without_dot_is_well_formed(graph: Graph) -> None:
    file = pdf.picture(draw(by_hand.scene(graph)), BUILTIN)
    start = int(file.rpartition(b"startxref\n")[2].split()[0])
    assert file[start : start + 4] == b"xref"
    for number, line in enumerate(file[start:].split(b"\n")[3:10], 1):
        at = int(line.split()[0])
        assert file[at:].startswith(b"%d 0 obj" % number)
    text = content(file)
    assert text.count("BT") == text.count("ET")
    assert max(numbers(file.partition(b"/MediaBox [")[2].partition(b"]")[0].decode())) <= pdf.LARGEST


def test_a_pdf_without_dot_says_letters_that_it_lacks_as_escapes() -> None:
    said: list[str] = []
    text = content(pdf.picture(draw(by_hand.scene(by_hand.hostile())), replace(BUILTIN, say=said.append)))
    assert "\\\\u05e9" in text
    assert "(<b>html label</b>)" in text
    assert said[0].startswith("letters that Helvetica lacks stand as escapes")


@needs_dot
@pytest.mark.parametrize("fit", ["a4", "slide"])
def test_a_pdf_with_other_letters_is_as_large_as_was_asked(fit: str) -> None:
    style = Style(page=paper(fit))
    scene = replace(by_hand.scene(by_hand.hostile()), style=style)
    file = pdf.picture(fitted(scene), style)
    *_, wide, high = numbers(file.partition(b"/MediaBox [")[2].partition(b"]")[0].decode())
    assert b"cairo" in file  # by Graphviz, which embeds the letters
    assert wide <= paper(fit).width + 1
    assert high <= paper(fit).height + 1


@needs_dot
def test_dot_paints_the_words_of_a_picture_where_they_stand() -> None:
    """Also one that is longer than a string may be for Graphviz."""
    picture = place(draw(by_hand.scene(by_hand.transformer(), depth=6)), BUILTIN, str).picture
    text = xdot.write(picture, LIGHT, 0.5)
    painted = parsed(run(dot(), ["-Kneato", "-n2", "-Tsvg"], text).decode())
    words = [one for part in picture.parts for one in part.shapes if isinstance(one, Words)]
    found = ["".join(one.itertext()).replace("\xa0", " ") for one in painted.iter(f"{SVG}text")]
    assert found == [one.text for one in words]
    heights = [float(one.attrib["y"]) for one in painted.iter(f"{SVG}text")]
    assert all(abs(at + 0.5 * picture.height - 0.5 * one.y) < 6 for at, one in zip(heights, words, strict=True))
    assert len(text) > xdot.LONGEST


@needs_dot
@every_graph
def test_dot_draws_pdf_and_png(graph: Graph) -> None:
    drawing = draw(by_hand.scene(graph))
    assert pdf.picture(drawing, Style(engine="dot")).startswith(b"%PDF")
    across, down = png.sides(png.picture(drawing, Style(engine="dot")))
    assert 0 < across <= 32_767
    assert 0 < down <= 32_767


@needs_dot
def test_dot_reads_labels_as_they_are() -> None:
    text = str(DRAWN["dot"].write(draw(by_hand.scene(by_hand.hostile())), Style()))
    found = run(dot(), ["-Tsvg"], text).decode()
    words = ["".join(part.itertext()) for part in parsed(found).iter(f"{SVG}text")]
    for name in ("<b>html label</b>", "back\\slash \\n \\l", "{brace|pipe} <angle> &amp; <script>alert(1)</script>"):
        assert name in words


@every_graph
def test_mermaid_holds_its_limits(graph: Graph) -> None:
    text = mermaid.picture(draw(by_hand.scene(graph)), Style())
    assert len(text) <= mermaid.MOST_CHARACTERS
    assert not set("<>\"'`\\{}|;") & set(re.sub(r"#\d+;|<b>|</b>|<br>", "", "".join(labels(text))))


def labels(text: str) -> list[str]:
    """What stands between quotes."""
    return re.findall(r'"([^"]*)"', text)


def test_mermaid_refuses_what_it_would_not_draw() -> None:
    with pytest.raises(UsageError, match="mermaid takes 500 arrows, and this picture has 600") as caught:
        FORMATS["mermaid"].render(by_hand.scene(by_hand.fan(600), rules=by_hand.UNFOLDED))
    assert "--depth" in caught.value.hint
    wordy = Drawing("", tuple(Box("w" * 50, ("w" * 50,) * 9, frozenset()) for _ in range(100)), ())
    with pytest.raises(UsageError, match="mermaid takes 50,000 characters"):
        mermaid.picture(wordy, Style())


@pytest.mark.parametrize("direction", list(Direction), ids=lambda one: one.value)
@pytest.mark.parametrize("name", ["dot", "svg", "pdf", "mermaid"])
def test_every_direction(name: str, direction: Direction) -> None:
    assert DRAWN[name].write(by_hand.everything(), Style(direction=direction, engine="builtin"))


def test_words_are_measured_and_wrapped() -> None:
    assert width("iii", 10) < width("WWW", 10) < width("WWW", 10, bold=True)
    assert width("\N{PARTY POPPER}", 10) > width("W", 10)
    assert all(width(line, 10) <= 100 for line in wrap("many words " * 20, 100, 10))
    assert shorten("x" * 100, 11) == "xxxxx…xxxxx"
