"""Graphviz's DOT language, for other tools and for Graphviz's own pictures. Labels are its HTML-like tables, whose rows
have colours of their own."""

from __future__ import annotations

from collections import defaultdict
from html import escape

from graphviz import Digraph, nohtml

from gradscope.model.printable import printable
from gradscope.render.metrics import shorten
from gradscope.view.drawing import Box, Cluster, Drawing, Scale
from gradscope.view.role import Role
from gradscope.view.style import Direction, Style
from gradscope.view.theme import MARKS, Theme, ink_on, look, ramp
from gradscope.view.words import TIMES

FONT = "Helvetica,Arial,sans-serif"
RANKS = {Direction.DOWN: "TB", Direction.UP: "BT", Direction.RIGHT: "LR", Direction.LEFT: "RL"}
SHAPES = {"hexagon", "folder"}  # the others are boxes with another border
MOST_BELOW = 2  # a layer's parameters hang one or two boxes below it


def write(drawing: Drawing, style: Style) -> str:
    """A drawing as DOT."""
    theme = style.theme
    font = {"fontname": FONT, "fontcolor": theme.ink}
    picture = Digraph("gradscope")
    picture.attr(rankdir=RANKS[style.direction], bgcolor=theme.paper, labelloc="t", nodesep="0.3", ranksep="0.35")
    picture.attr(fontsize="12", **font)
    picture.attr("node", shape="box", style="filled", fontsize="11", margin="0.08,0.03", **font)
    picture.attr("edge", color=theme.arrow, fontsize="9", arrowsize="0.7", **font)
    picture.attr(label=_plain(drawing.title, *drawing.captions))
    _fill(picture, drawing, theme)
    for arrow, length in zip(drawing.arrows, lengths(drawing), strict=True):
        label = f" {TIMES}{arrow.count}" if arrow.count > 1 else None
        pruned = Role.PRUNED in arrow.roles
        line = {"style": MARKS[Role.PRUNED].line, "color": theme.looks[Role.PRUNED].border} if pruned else {}
        minlen = str(length) if length > 1 else None
        picture.edge(f"b{arrow.tail}", f"b{arrow.head}", label=label, minlen=minlen, **line)
    _add_legend(picture, drawing, theme)
    return str(picture.source)


def lengths(drawing: Drawing) -> list[int]:
    """Ranks between the ends of each arrow. One that leaves a cluster ends below what hangs there, so that the next
    cluster stands under this one: at the same height they would stand side by side, and the picture become a staircase.
    """
    cluster = [box.cluster for box in drawing.boxes]
    below = [0] * len(cluster)
    for _ in range(MOST_BELOW):
        for arrow in drawing.arrows:
            if cluster[arrow.tail] == cluster[arrow.head]:
                below[arrow.tail] = min(max(below[arrow.tail], below[arrow.head] + 1), MOST_BELOW)
    return [below[a.tail] + 1 if _leaves(drawing, cluster[a.tail], cluster[a.head]) else 1 for a in drawing.arrows]


def _leaves(drawing: Drawing, tail: int | None, head: int | None) -> bool:
    """Whether an arrow from one cluster to another goes out of the first."""
    while head is not None and head != tail:
        head = drawing.clusters[head].around
    return head != tail


def _fill(picture: Digraph, drawing: Drawing, theme: Theme) -> None:
    """Put boxes into clusters and clusters into each other, the innermost first."""
    boxes: dict[int | None, list[int]] = defaultdict(list)
    for number, box in enumerate(drawing.boxes):
        boxes[box.cluster].append(number)
    inner: dict[int | None, list[Digraph]] = defaultdict(list)
    for number in range(len(drawing.clusters) - 1, -1, -1):
        cluster = drawing.clusters[number]
        part = Digraph(f"cluster_{number}", graph_attr={"label": _plain(cluster.title), **_frame(cluster, theme)})
        _put(part, drawing, theme, boxes[number], inner.pop(number, []))
        inner[cluster.around].append(part)
    _put(picture, drawing, theme, boxes[None], inner.pop(None, []))


def _put(picture: Digraph, drawing: Drawing, theme: Theme, boxes: list[int], inner: list[Digraph]) -> None:
    for number in boxes:
        box = drawing.boxes[number]
        picture.node(f"b{number}", label=_label(box, theme), tooltip=_plain(box.title, *box.notes), **_look(box, theme))
    for part in reversed(inner):
        picture.subgraph(part)


def _frame(cluster: Cluster, theme: Theme) -> dict[str, str]:
    frame = {"style": "rounded,filled", "fillcolor": theme.frame, "color": theme.frame_border, "labeljust": "l"}
    if not cluster.roles:
        return frame
    colours, mark = look(theme, cluster.roles)
    own = {"style": f"rounded,filled,{mark.line}", "fillcolor": colours.fill, "color": colours.border}
    return {**frame, **{name: value for name, value in own.items() if value}}


def _look(box: Box, theme: Theme) -> dict[str, str]:
    colours, mark = look(theme, box.roles)
    found = {"fillcolor": colours.fill or theme.paper, "color": colours.border or theme.ink}
    if box.heat is not None:
        fill = ramp(theme, box.heat)
        found.update(fillcolor=fill, fontcolor=ink_on(fill))
    if mark.shape in SHAPES:
        found["shape"] = mark.shape or "box"
    if mark.shape == "double":
        found["peripheries"] = "2"
    words = ["filled", *(["rounded"] if mark.shape == "round" else []), *([mark.line] if mark.line != "solid" else [])]
    if len(words) > 1:
        found["style"] = ",".join(word for word in words if word)
    if mark.width != 1:
        found["penwidth"] = f"{mark.width:g}"
    return found


def _label(box: Box, theme: Theme) -> str:
    """A box's lines as rows of one of Graphviz's HTML-like tables."""
    rows = [f"<tr><td><b>{_text(box.title)}</b></td></tr>"]
    rows += [f'<tr><td><font point-size="10">{_text(note)}</font></td></tr>' for note in box.notes]
    for row in box.rows:
        colours = theme.looks.get(row.role)
        strip = colours and (colours.strip or colours.fill)
        paper = f' bgcolor="{strip}"' if strip else ""
        ink = f' color="{theme.ink}"' if strip and box.heat is not None else ""
        rows.append(f'<tr><td{paper}><font point-size="10"{ink}>{_text(row.text)}</font></td></tr>')
    return f'<<table border="0" cellborder="0" cellspacing="1" cellpadding="1">{"".join(rows)}</table>>'


def _add_legend(picture: Digraph, drawing: Drawing, theme: Theme) -> None:
    """A sample of every look that appears, with its meaning."""
    rows = "".join(_legend_row(role, theme) for role in drawing.roles if role in theme.looks)
    rows += "" if drawing.scale is None else _scale_rows(drawing.scale, theme)
    if rows:
        label = f'<<table border="0" cellspacing="5">{rows}</table>>'
        picture.node("legend", label=label, shape="plain", style="")


def _legend_row(role: Role, theme: Theme) -> str:
    """A swatch and what it means, as a row of an HTML-like table, which stays small."""
    own, mark = theme.looks[role], MARKS.get(role)
    colours = look(theme, {role})[0]
    swatch = {
        "bgcolor": own.fill or own.strip or colours.fill,
        "color": own.border or own.strip or colours.border,
        "border": f"{(mark and mark.width) or 1:g}",
        "style": (mark and mark.line) or ("rounded" if mark and mark.shape == "round" else "solid"),
    }
    words = f"{role.value} ({mark.words})" if mark and mark.words else role.value
    attributes = " ".join(f'{name}="{value}"' for name, value in swatch.items())
    return f'<tr><td width="24" {attributes}></td><td border="0" align="left">{_text(words)}</td></tr>'


def _scale_rows(scale: Scale, theme: Theme) -> str:
    """The ends of a scale with the colours of both and of what lies between."""
    if not scale.high:
        return f'<tr><td border="0"></td><td border="0" align="left">{_text(scale.words)}</td></tr>'
    ends = {0.0: f"{scale.words}: {scale.low}", 0.5: "(logarithmic)", 1.0: scale.high}
    return "".join(
        f'<tr><td width="24" bgcolor="{ramp(theme, at)}"></td><td border="0" align="left">{_text(words)}</td></tr>'
        for at, words in ends.items()
    )


def _text(line: str) -> str:
    """A line for an HTML-like label: never empty, and without backslashes, which some versions take for escapes."""
    return escape(shorten(printable(line)), quote=False).replace("\\", "&#92;") or " "


def _plain(*lines: str) -> str:
    r"""Lines of a plain label. DOT itself reads `\n`, `\l` and `&lt;`: backslash and ampersand are escaped in names."""
    text = "\\n".join(printable(line).replace("\\", "\\\\").replace("&", "&amp;") for line in lines)
    label: str = nohtml(text)
    return label
