"""How roles look, on light and on dark paper. Every picture takes its colours, shapes and lines from here.

Users know torchviz's colours, so light paper keeps them. Nothing is said by colour alone: shapes, lines and words say
it too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from gradscope.view.role import Role


@dataclass(frozen=True, slots=True)
class Colours:
    """Colours of a role: a box's paper and border, and the strip behind a line of a box; None leaves one as it is."""

    fill: str | None = None
    border: str | None = None
    strip: str | None = None


@dataclass(frozen=True, slots=True)
class Mark:
    """What says the same without colour.

    `shape` is box, round, hexagon, folder or double; `line` is solid, dashed or dotted.
    """

    shape: str | None = None
    line: str | None = None
    width: float | None = None

    @property
    def words(self) -> str:
        """The mark in words, for a legend."""
        line = None if self.line == "solid" else self.line
        return ", ".join(word for word in (self.shape, line, "thick" if (self.width or 1) > 1 else None) if word)


@dataclass(frozen=True, slots=True)
class Theme:
    """Colours of the paper, of words, of quiet words, of arrows, of frames around open groups, and of roles.

    `ramp` are the colours of a scale, from little to much.
    """

    name: str
    paper: str
    ink: str
    quiet: str
    arrow: str
    frame: str
    frame_border: str
    looks: Mapping[Role, Colours]
    ramp: tuple[str, ...]


# Later ones win where a box has several.
MARKS: dict[Role, Mark] = {
    Role.ACCUMULATE: Mark("round"),
    Role.INPUT: Mark("round"),
    Role.ROOT: Mark("double"),
    Role.CUSTOM: Mark("hexagon"),
    Role.GROUP: Mark("folder"),
    Role.FOLDED: Mark(line="dashed"),
    Role.AGAIN: Mark(line="dashed"),
    Role.IDLE: Mark(line="dotted"),
    Role.PRUNED: Mark(line="dotted"),
    Role.SAVED: Mark(width=2),
    Role.KEPT: Mark(width=2),
    Role.LEVEL: Mark(line="dashed", width=2),
    Role.FOCUS: Mark(width=3),
    Role.FINDING: Mark(width=3),
}

LIGHT = Theme(
    name="light",
    paper="#ffffff",
    ink="#1f2328",
    quiet="#4b535d",
    arrow="#6e7781",
    frame="#f6f8fb",
    frame_border="#c3ccd6",
    looks={
        Role.PLAIN: Colours("#dedede", "#8c959f"),
        Role.VIEW: Colours("#f3f3f3", "#afb8c1"),
        Role.OPERATOR: Colours("#f3f3f3", "#8c959f"),
        Role.FOLDED: Colours("#eef2fd", "#7a8fc9"),
        Role.ACCUMULATE: Colours("#cfe8f7", "#5b9bc4", "#cfe8f7"),
        Role.INPUT: Colours("#cfe8f7", "#5b9bc4"),
        Role.ADDITION: Colours("#dff3c4", "#7ba33f", "#dff3c4"),
        Role.ROOT: Colours("#caf2b4", "#4c8a2b"),
        Role.CUSTOM: Colours("#e7d3f7", "#8250b5"),
        Role.GROUP: Colours("#dbe4fb", "#7a8fc9"),
        Role.AGAIN: Colours("#eef2fd"),
        Role.IDLE: Colours("#ffffff", "#8c959f"),
        Role.PRUNED: Colours(border="#a5adb5"),
        Role.SAVED: Colours(border="#d97706", strip="#fde5c3"),
        Role.KEPT: Colours(border="#d97706", strip="#fde5c3"),
        Role.HOOKED: Colours("#f9d3e6", "#b83280", "#f9d3e6"),
        Role.LEVEL: Colours("#f1ecfd", "#7c5cc4", "#e0d7f8"),
        Role.FOCUS: Colours(border="#0969da"),
        Role.FINDING: Colours(border="#cf222e", strip="#ffd9d6"),
    },
    ramp=("#f7f5fb", "#fddbb0", "#fca55d", "#e3611c", "#a33803"),
)

DARK = Theme(
    name="dark",
    paper="#0d1117",
    ink="#e6edf3",
    quiet="#a6b0bc",
    arrow="#8b949e",
    frame="#151b23",
    frame_border="#3d444d",
    looks={
        Role.PLAIN: Colours("#343b44", "#6e7781"),
        Role.VIEW: Colours("#22272e", "#545d68"),
        Role.OPERATOR: Colours("#22272e", "#6e7781"),
        Role.FOLDED: Colours("#181f38", "#6f86c9"),
        Role.ACCUMULATE: Colours("#1b4460", "#4f9fd0", "#1b4460"),
        Role.INPUT: Colours("#1b4460", "#4f9fd0"),
        Role.ADDITION: Colours("#33461a", "#87b34a", "#33461a"),
        Role.ROOT: Colours("#1f4a1a", "#5bb548"),
        Role.CUSTOM: Colours("#482a63", "#ab7ddd"),
        Role.GROUP: Colours("#233056", "#6f86c9"),
        Role.AGAIN: Colours("#181f38"),
        Role.IDLE: Colours("#0d1117", "#6e7781"),
        Role.PRUNED: Colours(border="#57606a"),
        Role.SAVED: Colours(border="#e69138", strip="#573711"),
        Role.KEPT: Colours(border="#e69138", strip="#573711"),
        Role.HOOKED: Colours("#59223f", "#d861a3", "#59223f"),
        Role.LEVEL: Colours("#1a1730", "#8f73d9", "#352a5e"),
        Role.FOCUS: Colours(border="#4493f8"),
        Role.FINDING: Colours(border="#f85149", strip="#611a1d"),
    },
    ramp=("#20262e", "#4a3218", "#85501a", "#c9741f", "#ffb05c"),
)

THEMES = {theme.name: theme for theme in (LIGHT, DARK)}


def look(theme: Theme, roles: Iterable[Role]) -> tuple[Colours, Mark]:
    """How something with these roles looks: each property is taken from the last role in the tables that sets it."""
    held = frozenset(roles)
    fill, border, shape, line, width = theme.looks[Role.PLAIN].fill, theme.looks[Role.PLAIN].border, "box", "solid", 1.0
    for role, colours in theme.looks.items():
        if role in held:
            fill, border = colours.fill or fill, colours.border or border
    for role, mark in MARKS.items():
        if role in held:
            shape, line, width = mark.shape or shape, mark.line or line, mark.width or width
    return Colours(fill, border), Mark(shape, line, width)


def ramp(theme: Theme, heat: float) -> str:
    """The colour at a place on the scale, from 0 to 1; what was not measured is as the paper."""
    if heat < 0:
        return theme.paper
    at = min(heat, 1.0) * (len(theme.ramp) - 1)
    one, two = (_parts(theme.ramp[int(end)]) for end in (at, -(-at // 1)))
    mixed = (int(low + (high - low) * (at % 1) + 0.5) for low, high in zip(one, two, strict=True))
    return "#" + "".join(f"{part:02x}" for part in mixed)


def ink_on(colour: str) -> str:
    """Black or white, whichever can be read on a colour."""
    return "#000000" if _brightness(colour) > 0.179 else "#ffffff"


def _parts(colour: str) -> tuple[int, ...]:
    return tuple(int(colour[at : at + 2], 16) for at in (1, 3, 5))


def _brightness(colour: str) -> float:
    """Relative luminance, as the guidelines for readable pages define it."""
    shares = (part / 255 for part in _parts(colour))
    red, green, blue = (one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in shares)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
