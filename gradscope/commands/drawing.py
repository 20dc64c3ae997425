"""What the commands that draw share: paper, direction and engine of a picture."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from gradscope.commands import options
from gradscope.render.late import late
from gradscope.render.programs import ENGINES
from gradscope.view.style import Direction, Style, silent
from gradscope.view.theme import DARK, LIGHT, THEMES

direction = click.option(
    "--direction",
    type=click.Choice([one.value for one in Direction]),
    default=Direction.DOWN.value,
    show_default=True,
    help="Where the arrows of a picture point.",
)
theme = click.option(
    "--theme",
    type=click.Choice([*THEMES, "auto"]),
    default=LIGHT.name,
    show_default=True,
    help="The paper of a picture; auto: an svg that follows the reader's choice.",
)
engine = click.option(
    "--engine",
    type=click.Choice(ENGINES),
    default="auto",
    show_default=True,
    help="What lays a picture out: dot (Graphviz), pure (graphviz-pure), builtin; auto: the first that can.",
)


fit = click.option(
    "--fit",
    metavar="SIZE",
    callback=lambda context, parameter, value: None if value is None else late("fit", "paper")(value),
    help="Fit a picture on a4, column, slide or WxH (mm, cm, in, pt): folded until type is at least 7 pt.",
)


def shared(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options that all of them take."""
    return direction(theme(engine(fit(function))))


def style(chosen: dict[str, Any], quiet: bool) -> Style:
    """The style that was chosen, which talks to the user unless that is not wanted."""
    name = chosen["theme"]
    return Style(
        theme=THEMES.get(name, LIGHT),
        dark=DARK if name == "auto" else None,
        direction=Direction(chosen["direction"]),
        engine=chosen["engine"],
        say=silent if quiet else options.talk,
        page=chosen["fit"],
    )
