"""Text for a terminal: a tree by module call, as wide as the terminal, coloured only when asked.

Without rich, which takes longer to load than most recordings to read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from rich.cells import cell_len

from gradscope.model.printable import printable
from gradscope.render.elide import GAP, fitting
from gradscope.render.styles import STYLES, styled
from gradscope.render.wrap import breaks, cut
from gradscope.view.line import Line
from gradscope.view.outline import outline
from gradscope.view.role import Role
from gradscope.view.scene import Scene
from gradscope.view.title import subtitles, title

FORK, END, CONTINUE, SPACE = "├── ", "└── ", "│   ", "    "
Words = tuple[str, str]  # and their style


def render(scene: Scene) -> str:
    """The scene as a tree."""
    heading = [[(printable(line), "bold")] for line in (title(scene), *subtitles(scene))]  # each escaped by itself
    rows = [row for words in heading for row in _rows(words, scene.width)]
    lines = outline(scene)
    for line, (first, rest) in zip(lines, guides([line.depth for line in lines]), strict=True):
        row, *more = _rows(_words(line, scene.width - len(first)), scene.width - len(first))
        rows += [[(first, ""), *row], *([(rest, ""), *one] for one in more)]
    if scene.color:
        return "".join("".join(styled(*words) for words in row).rstrip() + "\n" for row in rows)
    return "".join("".join(text for text, _ in row).rstrip() + "\n" for row in rows)


def guides(depths: Sequence[int]) -> Iterator[tuple[str, str]]:
    """What stands left of each line of a tree, by how deep they are, and left of what does not fit on it."""
    open_at: set[int] = set()
    follows = list[bool]()
    for depth in reversed(depths):
        follows.append(depth in open_at)
        open_at = {one for one in open_at if one < depth} | {depth}
    around = list[str]()
    for depth, more in zip(depths, reversed(follows), strict=True):
        del around[depth - 1 :]
        left, rest = "".join(around), CONTINUE if more else SPACE
        yield left + (FORK if more else END), left + rest
        around.append(rest)


def _words(line: Line, room: int) -> list[Words]:
    """The parts of a line, elided until all fit; what only one part says is said in full, unless it sums up others."""
    texts = [printable(part.text) for part in line.parts]
    if len(texts) > 1 or line.parts[0].role is Role.FOLDED:
        texts = fitting(texts, room)
    parts = [(text, STYLES.get(part.role, "")) for text, part in zip(texts, line.parts, strict=True)]
    return [words for part in parts for words in ((GAP, ""), part)][1:]


def _rows(words: list[Words], room: int) -> list[list[Words]]:
    """The words on one line, or on as many as it takes."""
    text = "".join(text for text, _ in words)
    if cell_len(text) <= room:
        return [words]
    places = [0, *breaks(text, room), len(text)]
    return [cut(words, start, stop, room) for start, stop in pairwise(places)]
