"""The legend of a picture: the scale of its colours, and a swatch for each role that appears."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gradscope.render.layout.geometry import Rect
from gradscope.render.metrics import width
from gradscope.render.panel import NOTE, Escape
from gradscope.render.shapes import PRUNED, QUIET, Paint, Shape, Words, outline, rounded
from gradscope.view.drawing import Drawing, Scale
from gradscope.view.role import Role
from gradscope.view.theme import LIGHT, MARKS, Mark

SWATCH = (26.0, 13.0)
KEY = 17.0  # the height of a line
SCALE_PARTS = 17


def legend(
    drawing: Drawing, escape: Escape, left: float, across: float, top: float
) -> tuple[list[Shape | Words], float]:
    """The shapes and words of a legend, and where it ends."""
    scale, below = _scale(drawing.scale, escape, left, top)
    keys, bottom = _keys(drawing.roles, left, across, below)
    return [*scale, *keys], bottom


def _scale(scale: Scale | None, escape: Escape, margin: float, top: float) -> tuple[list[Shape | Words], float]:
    """`time: 12 us [colours] 3 ms (logarithmic)`, and where that ends."""
    if scale is None:
        return [], top
    if not scale.high:
        return [Words(margin, top + 6.5, escape(scale.words), NOTE, QUIET)], top + KEY
    first, last = escape(f"{scale.words}: {scale.low}"), escape(f"{scale.high} (logarithmic)")
    left = margin + width(first, NOTE) * 1.06 + 8.0
    bar = [
        Shape(rounded(Rect(left + SWATCH[0] / 4 * at, top, SWATCH[0] / 4 + 0.5, SWATCH[1]), 0.0), _on_scale(at), 0.0)
        for at in range(SCALE_PARTS)
    ]
    right = left + SWATCH[0] / 4 * SCALE_PARTS + 8.0
    words = (Words(margin, top + 6.5, first, NOTE, QUIET), Words(right, top + 6.5, last, NOTE, QUIET))
    return [*bar, *words], top + KEY + 4.0


def _on_scale(part: int) -> Paint:
    return Paint("scale", heat=part / (SCALE_PARTS - 1))


def _keys(roles: Sequence[Role], margin: float, across: float, top: float) -> tuple[list[Shape | Words], float]:
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
        x, y = margin + column * (place // rows), top + KEY * (place % rows)
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
        yield Shape(rounded(rect, 2.0), Paint("strip", frozenset({role})), 0.0)
        return
    tab = 4.0 if mark.shape == "folder" else 0.0  # stands out above
    yield from outline(Rect(rect.x, rect.y + tab, rect.width, rect.height - tab), frozenset({role}))
    if strip:
        inner = Rect(rect.x + 3.0, rect.y + 3.0, rect.width - 6.0, rect.height - 6.0)
        yield Shape(rounded(inner, 1.0), Paint("strip", frozenset({role})), 0.0, mark.line or "solid")
