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
class Style:
    """`engine` is auto, dot, pure or builtin; `say` is called with a line for the user, such as which engine drew.

    `dark` is the theme for those who see dark pages, where a format can have both.
    """

    theme: Theme = LIGHT
    dark: Theme | None = None
    direction: Direction = Direction.DOWN
    engine: str = "auto"
    say: Callable[[str], None] = silent


PLAIN = Style()
