"""A layout by a Graphviz program: it gets sizes without words, and gives places, so that all engines draw alike."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

from gradscope.render.dot import RANKS, lengths
from gradscope.render.layout.geometry import Layout, Point, Rect, Route
from gradscope.render.programs import EngineFailed, run
from gradscope.view.drawing import Drawing
from gradscope.view.style import Direction

INCH = 72.0
LABEL = 14.0
Size = tuple[float, float]


def lay_out(
    program: str, drawing: Drawing, sizes: Sequence[Size], labels: Sequence[float], direction: Direction
) -> Layout:
    """Places for boxes of these sizes, and for clusters whose names are so wide. Raises EngineFailed."""
    answer = run(program, ["-Tjson0"], _skeleton(drawing, sizes, labels, direction))
    try:
        return _read(json.loads(answer), drawing)
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise EngineFailed(f"gave a layout that cannot be read: {error!r}"[:200]) from error


def _skeleton(drawing: Drawing, sizes: Sequence[Size], labels: Sequence[float], direction: Direction) -> str:
    """The drawing in DOT with nothing but sizes."""
    ranks = RANKS[direction]
    lines = [f'digraph {{ rankdir={ranks} nodesep=0.3 ranksep=0.35 node [shape=box fixedsize=true label=""]']
    boxes: dict[int | None, list[int]] = defaultdict(list)
    for number, box in enumerate(drawing.boxes):
        boxes[box.cluster].append(number)
    inner: dict[int | None, list[str]] = defaultdict(list)
    for number in range(len(drawing.clusters) - 1, -1, -1):
        room = f'width="{labels[number]:.0f}" height="{LABEL:.0f}"'
        label = f'<<table border="0" fixedsize="true" {room}><tr><td></td></tr></table>>'
        body = [_box(box, sizes[box]) for box in boxes[number]] + inner.pop(number, [])[::-1]
        text = f"subgraph cluster_{number} {{ labeljust=l label={label}\n" + "\n".join(body) + "\n}"
        inner[drawing.clusters[number].around].append(text)
    lines += [_box(box, sizes[box]) for box in boxes[None]] + inner.pop(None, [])[::-1]
    for number, (arrow, length) in enumerate(zip(drawing.arrows, lengths(drawing), strict=True)):
        lines.append(f'b{arrow.tail} -> b{arrow.head} [id="{number}" minlen={length}]')
    return "\n".join([*lines, "}"])


def _box(number: int, size: Size) -> str:
    return f"b{number} [width={size[0] / INCH:.4f} height={size[1] / INCH:.4f}]"


def _read(answer: Any, drawing: Drawing) -> Layout:
    """Graphviz's y grows upwards."""
    _, _, width, height = _numbers(answer["bb"])
    boxes: dict[int, Rect] = {}
    clusters: dict[int, Rect] = {}
    for one in answer.get("objects", ()):
        kind, _, number = one["name"].rpartition("_") if "_" in one["name"] else ("b", "", one["name"][1:])
        if kind == "cluster":
            left, low, right, high = _numbers(one["bb"])
            clusters[int(number)] = Rect(left, height - high, right - left, high - low)
        else:
            wide, tall = float(one["width"]) * INCH, float(one["height"]) * INCH
            x, y = _numbers(one["pos"])
            boxes[int(number)] = Rect(x - wide / 2, height - y - tall / 2, wide, tall)
    routes = {int(one["id"]): _route(one["pos"], height) for one in answer.get("edges", ())}
    return Layout(
        width,
        height,
        tuple(boxes[number] for number in range(len(drawing.boxes))),
        tuple(clusters[number] for number in range(len(drawing.clusters))),
        tuple(routes[number] for number in range(len(drawing.arrows))),
    )


def _route(text: str, height: float) -> Route:
    """`e,x,y x,y x,y ...`: where the head's point is, then the curve up to the head."""
    head: Point | None = None
    points: list[Point] = []
    for word in text.partition(";")[0].split():
        if word.startswith(("e,", "s,")):
            head = _point(word[2:], height) if word[0] == "e" else head
        else:
            points.append(_point(word, height))
    curves = [(one, two, end) for one, two, end in zip_longest(points[1::3], points[2::3], points[3::3])]
    if any(None in curve for curve in curves):
        raise ValueError("a curve lacks a point")
    if head is not None:
        last = points[-1]
        curves.append((last, head, head))
    middle = points[len(points) // 2]
    return Route(points[0], tuple(curves), middle)


def _point(text: str, height: float) -> Point:
    x, y = _numbers(text)
    return x, height - y


def _numbers(text: str) -> list[float]:
    return [float(part) for part in text.split(",")]
