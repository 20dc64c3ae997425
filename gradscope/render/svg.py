"""SVG: a picture's shapes and words as markup. Words stay words; what a pointer rests on says itself in full."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from zlib import crc32

from gradscope.model.printable import printable
from gradscope.render.fit import place
from gradscope.render.metrics import FONT, width
from gradscope.render.picture import Picture, PicturePart
from gradscope.render.shapes import ARROW, PRUNED, Paint, Shape, Words, colours
from gradscope.view.drawing import Drawing
from gradscope.view.style import Style
from gradscope.view.theme import Theme

HEAD = "\0"  # stands for the picture's own name until that is known: no text has it
DASHES = {"dashed": "5 3", "dotted": "1.5 3"}
XML = "".join(map(chr, (*range(0x20), 0x7F, *range(0x80, 0xA0), 0xFFFE, 0xFFFF)))  # what XML does not take


def picture(drawing: Drawing, style: Style) -> str:
    """A drawing as SVG."""
    placed = place(drawing, style, printable)
    return write(placed.picture, style.theme, style.dark, placed.scale)


def write(picture: Picture, theme: Theme, dark: Theme | None = None, scale: float = 1.0) -> str:
    """The markup; with `dark` those who see dark pages get that theme.

    Its rules hold for itself only: a notebook puts many pictures on one page.
    """
    paints: dict[Paint, str] = {Paint("paper"): "paper", ARROW: "p0", PRUNED: "p1"}
    body = "\n".join(_part(part, paints) for part in picture.parts)
    key = f"g{crc32((picture.title + body).encode('utf-8', 'replace')):08x}"
    style = _style(theme, paints, key)
    if dark is not None:
        style += f"\n@media (prefers-color-scheme: dark) {{\n{_style(dark, paints, key)}\n}}"
    wide, high = picture.width * scale, picture.height * scale
    unit = "pt" if scale != 1 else ""
    size = f'viewBox="0 0 {picture.width:.0f} {picture.height:.0f}" width="{wide:.0f}{unit}"'
    heads = "".join(_head(name, key) for name in (paints[ARROW], paints[PRUNED]))
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" id="{key}" {size} height="{high:.0f}{unit}" role="img">',
            f"<title>{_text(picture.title)}</title>",
            f"<desc>{_text(' '.join(picture.captions))}</desc>",
            f"<style>\n#{key} text {{ font-family: {FONT} }}\n{style}\n</style>",
            f"<defs>{heads}</defs>",
            f'<rect class="paper" width="{picture.width:.0f}" height="{picture.height:.0f}"/>',
            body.replace(HEAD, key),
            "</svg>\n",
        )
    )


def _style(theme: Theme, paints: dict[Paint, str], key: str) -> str:
    """A rule for each paint."""
    rules = []
    for paint, name in paints.items():
        look = colours(theme, paint)
        rules.append(f"#{key} .{name} {{ fill: {look.fill or 'none'}; stroke: {look.border or 'none'} }}")
        if paint.part == "arrow":
            rules.append(f"#{key} .{name}h {{ fill: {look.border}; stroke: none }}")
    return "\n".join(rules)


def _head(name: str, key: str) -> str:
    """An arrow's head: its point touches the box."""
    place = 'viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" markerUnits="userSpaceOnUse"'
    return f'<marker id="{key}{name}" {place} orient="auto"><path class="{name}h" d="M0 0.5L8 4L0 7.5z"/></marker>'


def _part(part: PicturePart, paints: dict[Paint, str]) -> str:
    inner = "".join(_shape(one, paints) if isinstance(one, Shape) else _words(one, paints) for one in part.shapes)
    tooltip = f"<title>{_text(part.tooltip)}</title>" if part.tooltip else ""
    return f'<g class="{part.kind}">{tooltip}{inner}</g>'


def _shape(shape: Shape, paints: dict[Paint, str]) -> str:
    name = paints.setdefault(shape.paint, f"p{len(paints)}")
    way = "".join(command + " ".join(map(_number, numbers)) for command, numbers in shape.way)
    pen = "" if shape.pen == 1 else f' stroke-width="{_number(shape.pen)}"'
    dash = f' stroke-dasharray="{DASHES[shape.line]}"' if shape.line in DASHES else ""
    head = f' marker-end="url(#{HEAD}{name})"' if shape.head else ""
    return f'<path class="{name}"{pen}{dash}{head} d="{way}"/>'


def _words(words: Words, paints: dict[Paint, str]) -> str:
    name = paints.setdefault(words.paint, f"p{len(paints)}")
    bold = ' font-weight="bold"' if words.bold else ""
    anchor = ' text-anchor="middle"' if words.centred else ""
    at = f'x="{_number(words.x)}" y="{_number(words.y + words.size * 0.35)}" font-size="{_number(words.size)}"'
    # Fonts that stand in for Helvetica are wider: this keeps words inside their boxes.
    long = f' textLength="{_number(width(words.text, words.size, words.bold))}" lengthAdjust="spacingAndGlyphs"'
    return f'<text class="{name}" {at}{bold}{anchor}{long} xml:space="preserve">{_text(words.text)}</text>'


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _text(text: str) -> str:
    return escape("".join(_legal(text)))


def _legal(text: str) -> Iterable[str]:
    """Line ends of tooltips are fine; nothing else of what XML cannot hold is left after printable()."""
    return (character for character in text if character == "\n" or character not in XML)
