"""Graphviz's DOT language. Colours are torchviz's, which users know; shapes and borders say the same without colour."""

from __future__ import annotations

from collections import defaultdict

from graphviz import Digraph, nohtml

from gradscope.model.printable import printable
from gradscope.view.draw import draw
from gradscope.view.drawing import Box, Drawing
from gradscope.view.role import Role
from gradscope.view.scene import Scene
from gradscope.view.words import TIMES

# Later rows win where a box has several roles.
LOOKS: dict[Role, dict[str, str]] = {
    Role.PLAIN: {"fillcolor": "#dadada"},
    Role.VIEW: {"fillcolor": "#f2f2f2"},
    Role.ACCUMULATE: {"fillcolor": "lightblue", "shape": "ellipse"},
    Role.ROOT: {"fillcolor": "darkolivegreen1", "peripheries": "2"},
    Role.CUSTOM: {"fillcolor": "#e3c8f5", "shape": "hexagon"},
    Role.GROUP: {"fillcolor": "#ccd6f6", "shape": "folder"},
    Role.FOLDED: {"fillcolor": "#e8ecfb", "style": "filled,dashed"},
    Role.IDLE: {"fillcolor": "white", "style": "filled,dotted", "fontcolor": "#777777"},
    Role.SAVED: {"color": "#e08000", "penwidth": "2"},
    Role.HOOKED: {"color": "#c00000", "penwidth": "2"},
    Role.INPUT: {"fillcolor": "lightblue", "shape": "ellipse"},
    Role.OPERATOR: {"fillcolor": "#f2f2f2"},
    Role.ADDITION: {"fillcolor": "darkolivegreen1"},
    Role.KEPT: {"color": "#e08000", "penwidth": "2"},
    Role.AGAIN: {"style": "filled,dashed", "fillcolor": "#e8ecfb"},
}
NODE = {
    "shape": "box",
    "style": "filled",
    "fillcolor": "#dadada",
    "fontname": "Helvetica,Arial,sans-serif",
    "fontsize": "11",
}
CLUSTER = {"style": "rounded,filled", "fillcolor": "#00000008", "color": "#999999", "labeljust": "l"}
MOST_BELOW = 2  # a layer's parameters hang one or two boxes below it
DIRECTION = "Arrows run in backward order: the loss is at the top, the parameters are at the bottom."


def render(scene: Scene) -> str:
    """The scene as DOT."""
    return write(draw(scene))


def write(drawing: Drawing, direction: str = DIRECTION) -> str:
    """A drawing as DOT; `direction` says what its arrows mean."""
    picture = Digraph("gradscope", graph_attr={"rankdir": "TB", "fontname": NODE["fontname"], "labelloc": "t"})
    picture.attr("node", **NODE)
    picture.attr("edge", color="#555555", fontsize="9", fontname=NODE["fontname"])
    picture.attr(label=_label(drawing.title, direction))
    _fill(picture, drawing)
    for arrow, length in zip(drawing.arrows, _lengths(drawing), strict=True):
        label = f" {TIMES}{arrow.count}" if arrow.count > 1 else None
        picture.edge(f"b{arrow.tail}", f"b{arrow.head}", label=label, minlen=str(length) if length > 1 else None)
    _add_legend(picture, drawing.roles)
    return str(picture.source)


def _lengths(drawing: Drawing) -> list[int]:
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


def _fill(picture: Digraph, drawing: Drawing) -> None:
    """Put boxes into clusters and clusters into each other, the innermost first."""
    boxes: dict[int | None, list[int]] = defaultdict(list)
    for number, box in enumerate(drawing.boxes):
        boxes[box.cluster].append(number)
    inner: dict[int | None, list[Digraph]] = defaultdict(list)
    for number in range(len(drawing.clusters) - 1, -1, -1):
        cluster = drawing.clusters[number]
        part = Digraph(f"cluster_{number}", graph_attr={"label": _label(cluster.title), **CLUSTER})
        _put(part, drawing, boxes[number], inner.pop(number, []))
        inner[cluster.around].append(part)
    _put(picture, drawing, boxes[None], inner.pop(None, []))


def _put(picture: Digraph, drawing: Drawing, boxes: list[int], inner: list[Digraph]) -> None:
    for number in boxes:
        box = drawing.boxes[number]
        picture.node(f"b{number}", label=_label(box.title, *box.notes), **_look(box))
    for part in reversed(inner):
        picture.subgraph(part)


def _look(box: Box) -> dict[str, str]:
    look: dict[str, str] = {}
    for role, attributes in LOOKS.items():
        if role in box.roles:
            look.update(attributes)
    return look


def _add_legend(picture: Digraph, roles: tuple[Role, ...]) -> None:
    """A sample of every look that appears, with its meaning."""
    if roles:
        rows = "".join(map(_legend_row, roles))
        picture.node("legend", label=f'<<table border="0" cellspacing="5">{rows}</table>>', shape="plain", style="")


def _legend_row(role: Role) -> str:
    """A swatch and what it means, as a row of one of Graphviz's HTML-like tables, which stays small."""
    look = LOOKS.get(role, {})
    style = "rounded" if look.get("shape") == "ellipse" else look.get("style", "filled").rpartition(",")[2]
    swatch = {
        "bgcolor": look.get("fillcolor", NODE["fillcolor"]),
        "color": look.get("color", "black"),
        "border": look.get("penwidth", look.get("peripheries", "1")),
        "style": "solid" if style == "filled" else style,
    }
    marks = [look["shape"]] if "shape" in look else ["double border"] if "peripheries" in look else []
    words = " ".join([role.value, *(f"({mark})" for mark in marks)])
    attributes = " ".join(f'{name}="{value}"' for name, value in swatch.items())
    return f'<tr><td width="24" {attributes}></td><td border="0" align="left">{words}</td></tr>'


def _label(*lines: str) -> str:
    r"""Lines of a label. DOT itself reads `\n`, `\l` and `&lt;`, so backslash and ampersand are escaped in names."""
    text = "\\n".join(printable(line).replace("\\", "\\\\").replace("&", "&amp;") for line in lines)
    label: str = nohtml(text)
    return label
