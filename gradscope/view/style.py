"""How a picture is to be drawn: by which engine, on which paper, in which direction."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass

from gradscope.view.theme import LIGHT, Theme


class Direction(enum.Enum):
    """Where arrows point."""

    DOWN = "down"
    UP = "up"
    RIGHT = "right"
    LEFT = "left"


def silent(sentence: str) -> None:
    """Say nothing."""


@dataclass(frozen=True, slots=True)
class Paper:
    """What a picture must fit on, in points; margins are taken away already."""

    name: str
    width: float
    height: float


PAPERS = {
    paper.name: paper
    for paper in (Paper("a4", 539.0, 786.0), Paper("column", 252.0, 680.0), Paper("slide", 904.0, 484.0))
}


@dataclass(frozen=True, slots=True)
class Style:
    """`engine` is auto, dot, pure or builtin; `say` is called with a line for the user, such as which engine drew.

    `page` is what the picture must fit on, None for as large as it gets. `dark` is the theme for those who see dark
    pages, where a format can have both.
    """

    theme: Theme = LIGHT
    dark: Theme | None = None
    direction: Direction = Direction.DOWN
    engine: str = "auto"
    say: Callable[[str], None] = silent
    page: Paper | None = None


PLAIN = Style()
