"""The lines of a box as they are drawn, and how much room they need."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gradscope.render.metrics import shorten, width
from gradscope.view.drawing import Box
from gradscope.view.role import Role

TITLE, NOTE = 12.0, 10.5  # sizes of letters
TITLE_HEIGHT, NOTE_HEIGHT, ROW_HEIGHT = 17.0, 14.0, 15.5
PAD_X, PAD_Y, STRIP = 10.0, 5.0, 5.0
SLACK = 1.06  # fonts that stand in for Helvetica are a little wider
NARROWEST = 70.0

Escape = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class PanelLine:
    """A line of a box: `y` is its middle, from the box's top; `strip` the role whose colour is behind it."""

    text: str
    y: float
    size: float
    bold: bool = False
    quiet: bool = False
    strip: Role | None = None


@dataclass(frozen=True, slots=True)
class Panel:
    """A box's content."""

    lines: tuple[PanelLine, ...]
    width: float
    height: float
    tooltip: str


def panel(box: Box, escape: Escape) -> Panel:
    """The content of a box; `escape` makes text printable where it goes."""
    texts: list[tuple[str, float, float, Role | None]] = [(escape(box.title), TITLE, TITLE_HEIGHT, None)]
    texts += [(escape(note), NOTE, NOTE_HEIGHT, None) for note in box.notes]
    texts += [(escape(row.text), NOTE, ROW_HEIGHT, row.role) for row in box.rows]
    lines = []
    y, widest = PAD_Y, NARROWEST - 2 * PAD_X
    for text, size, height, role in texts:
        bold = size == TITLE
        shown = shorten(text)
        lines.append(PanelLine(shown, y + height / 2, size, bold, not bold and role is None, role))
        widest = max(widest, width(shown, size, bold) * SLACK + (2 * STRIP if role else 0.0))
        y += height
    slanted = 8.0 if Role.CUSTOM in box.roles else 0.0  # a hexagon's corners take room
    return Panel(tuple(lines), widest + 2 * (PAD_X + slanted), y + PAD_Y, "\n".join(text for text, *_ in texts))
