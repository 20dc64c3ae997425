"""Mermaid, for Markdown that draws it (GitHub, GitLab). It takes 500 arrows and 50,000 characters at most."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from gradscope.errors import UsageError
from gradscope.model.printable import printable
from gradscope.render.metrics import shorten
from gradscope.view.drawing import Box, Drawing
from gradscope.view.role import Role
from gradscope.view.style import Direction, Style
from gradscope.view.theme import LIGHT, MARKS, Theme, ink_on, look, ramp
from gradscope.view.words import TIMES

MOST_ARROWS, MOST_CHARACTERS = 500, 50_000
DIRECTIONS = {Direction.DOWN: "TD", Direction.UP: "BT", Direction.RIGHT: "LR", Direction.LEFT: "RL"}
SHAPES = {
    "box": ("[", "]"),
    "round": ("([", "])"),
    "hexagon": ("{{", "}}"),
    "folder": ("[[", "]]"),
    "double": ("[[", "]]"),
}
SAFE = f" .,:_-+()/*{TIMES}·…⋮→"
HINT = "fold more (--depth 1 or 2, --no-params, --focus NODE), or use --fmt svg"
DASHES = {"dashed": "5 3", "dotted": "2 3"}


def picture(drawing: Drawing, style: Style) -> str:
    """A drawing as Mermaid. Raises UsageError when Mermaid would refuse it."""
    if len(drawing.arrows) > MOST_ARROWS:
        raise UsageError(f"mermaid takes {MOST_ARROWS} arrows, and this picture has {len(drawing.arrows):,}", HINT)
    text = "\n".join(_lines(drawing, style)) + "\n"
    if len(text) > MOST_CHARACTERS:
        raise UsageError(f"mermaid takes {MOST_CHARACTERS:,} characters, and this picture has {len(text):,}", HINT)
    return text


def _lines(drawing: Drawing, style: Style) -> Iterator[str]:
    yield from (f"%% {shorten(printable(line), 200)}" for line in (drawing.title, *drawing.captions))
    yield f"flowchart {DIRECTIONS[style.direction]}"
    yield from _inside(drawing)
    for arrow in drawing.arrows:
        line = "-.->" if Role.PRUNED in arrow.roles else "-->"
        label = f'|"{TIMES}{arrow.count}"|' if arrow.count > 1 else ""
        yield f"  b{arrow.tail} {line}{label} b{arrow.head}"
    yield from _classes(drawing, style.theme)
    yield from _legend(drawing)


def _inside(drawing: Drawing) -> Iterator[str]:
    """Boxes in their clusters, which nest."""
    boxes: dict[int | None, list[int]] = defaultdict(list)
    for number, box in enumerate(drawing.boxes):
        boxes[box.cluster].append(number)
    clusters: dict[int | None, list[int]] = defaultdict(list)
    for number, cluster in enumerate(drawing.clusters):
        clusters[cluster.around].append(number)
    waiting: list[int | str | None] = [None]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            yield one
            continue
        if one is not None:
            yield f'  subgraph c{one}["{_text(drawing.clusters[one].title)}"]'
            waiting.append("  end")
        yield from (f"  {_box(number, drawing.boxes[number])}" for number in boxes[one])
        waiting.extend(reversed(clusters[one]))


def _box(number: int, box: Box) -> str:
    lines = [f"<b>{_text(box.title)}</b>", *map(_text, box.notes), *(_text(row.text) for row in box.rows)]
    _, mark = look(LIGHT, box.roles)
    left, right = SHAPES[mark.shape or "box"]
    return f'b{number}{left}"{"<br>".join(lines)}"{right}'


def _classes(drawing: Drawing, theme: Theme) -> Iterator[str]:
    """A class for each set of roles that appears."""
    members: dict[tuple[frozenset[Role], float | None], list[str]] = defaultdict(list)
    for number, box in enumerate(drawing.boxes):
        members[box.roles, box.heat].append(f"b{number}")
    for number, ((roles, heat), names) in enumerate(members.items()):
        colours, mark = look(theme, roles)
        fill = colours.fill if heat is None else ramp(theme, heat)
        ink = theme.ink if heat is None else ink_on(ramp(theme, heat))
        dash = f",stroke-dasharray:{DASHES[mark.line]}" if mark.line in DASHES else ""
        pen = f"stroke-width:{mark.width:g}px{dash}"
        yield f"  classDef k{number} fill:{fill},stroke:{colours.border},color:{ink},{pen}"
        yield f"  class {','.join(names)} k{number}"


def _legend(drawing: Drawing) -> Iterator[str]:
    """Mermaid has no place for one, so it stands in the text's comments."""
    if drawing.scale is not None:
        ends = [f"{drawing.scale.low} … {drawing.scale.high}"] if drawing.scale.high else []
        yield f"%% {': '.join([drawing.scale.words, *ends])}"
    for role in drawing.roles:
        words = MARKS[role].words if role in MARKS else ""
        yield f"%% {role.value}" + (f" ({words})" if words else "")


def _text(line: str) -> str:
    """Everything that could be markup, a quote or the end of a label as Mermaid's own escape, `#code;`."""
    return "".join(
        character if character.isalnum() or character in SAFE else f"#{ord(character)};"
        for character in shorten(printable(line))
    )
