"""Text for a terminal: a tree by module call, as wide as the terminal, coloured only when asked."""

from __future__ import annotations

import io

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text
from rich.tree import Tree

from gradscope.model.printable import printable
from gradscope.render.elide import elided
from gradscope.render.styles import STYLES
from gradscope.view.line import Line
from gradscope.view.outline import outline
from gradscope.view.scene import Scene
from gradscope.view.title import subtitles, title

BRANCH = 4  # cells of rich's lines for each depth
LEAST = (14, 10)  # cells that an elided name keeps; where not even that fits


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
    console.print(_tree(heading, outline(scene), scene.width))
    return "\n".join(line.rstrip() for line in page.getvalue().splitlines()) + "\n"


def _tree(heading: Text, lines: list[Line], width: int) -> Tree:
    """Rich's tree, built with the branch that is open at each depth. A line stays one: its longest names are elided."""
    open_branches = [Tree(heading, highlight=False)]
    for line in lines:
        del open_branches[line.depth :]
        open_branches.append(open_branches[-1].add(_words(line, width - BRANCH * line.depth)))
    return open_branches[0]


def _words(line: Line, room: int) -> Text:
    """The parts of a line, the longest elided until all fit; what only one part says is said in full."""
    texts = [printable(part.text) for part in line.parts]
    if len(texts) > 1:
        over = sum(map(cell_len, texts)) + 2 * (len(texts) - 1) - room
        for least in LEAST:
            while over > 0 and max(map(cell_len, texts)) > least:
                place = max(range(len(texts)), key=lambda one: cell_len(texts[one]))
                shorter = elided(texts[place], max(cell_len(texts[place]) - over, least))
                over -= cell_len(texts[place]) - cell_len(shorter)
                texts[place] = shorter
    styled = zip(texts, line.parts, strict=True)
    return Text("  ").join(Text(text, style=STYLES.get(part.role, "")) for text, part in styled)
