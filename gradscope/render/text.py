"""Text for a terminal: a tree by module call, as wide as the terminal, coloured only when asked."""

from __future__ import annotations

import io

from rich.console import Console
from rich.text import Text
from rich.tree import Tree

from gradscope.model.printable import printable
from gradscope.render.styles import STYLES
from gradscope.view.line import Line
from gradscope.view.outline import outline
from gradscope.view.scene import Scene
from gradscope.view.title import subtitles, title


def render(scene: Scene) -> str:
    """The scene as a tree."""
    page = io.StringIO()
    console = Console(
        file=page,
        width=scene.width,
        force_terminal=scene.color,
        no_color=not scene.color,
        color_system="standard" if scene.color else None,
        legacy_windows=False,
        markup=False,
        emoji=False,
        highlight=False,
    )
    lines = "\n".join(printable(line) for line in (title(scene), *subtitles(scene)))  # each escaped by itself
    heading = Text(lines, style="bold" if scene.color else "")
    console.print(_tree(heading, outline(scene)))
    return "\n".join(line.rstrip() for line in page.getvalue().splitlines()) + "\n"


def _tree(heading: Text, lines: list[Line]) -> Tree:
    """Rich's tree, built with the branch that is open at each depth."""
    open_branches = [Tree(heading, highlight=False)]
    for line in lines:
        del open_branches[line.depth :]
        open_branches.append(open_branches[-1].add(_words(line)))
    return open_branches[0]


def _words(line: Line) -> Text:
    return Text("  ").join(Text(printable(part.text), style=STYLES.get(part.role, "")) for part in line.parts)
