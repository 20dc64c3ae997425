"""Draws a graph: what its reduction left, as boxes, arrows and clusters, with the words that belong to each."""

from __future__ import annotations

from dataclasses import replace

from gradscope.graphs.reduce import reduce
from gradscope.model.group import Group
from gradscope.model.reduced import Folded, Frame, Link, PieceKind, Reduced
from gradscope.view.drawing import Arrow, Cluster, Drawing
from gradscope.view.heat import Heat, scaled, value_of
from gradscope.view.pieces import Teller
from gradscope.view.role import Role
from gradscope.view.scene import Scene, Show
from gradscope.view.title import title
from gradscope.view.words import amount

READING = "Arrows run in backward order, from the loss to the parameters."
NO_ROLES: frozenset[Role] = frozenset()


def draw(scene: Scene) -> Drawing:
    """The picture of a scene."""
    return drawn(scene, reduce(scene.graph, scene.reduction))


def drawn(scene: Scene, reduced: Reduced) -> Drawing:
    """The picture of what is left of a scene."""
    teller = Teller(scene)
    drawing = Drawing(
        title(scene),
        tuple(teller.box(piece) for piece in reduced.pieces),
        tuple(map(_arrow, reduced.links)),
        tuple(map(_cluster, reduced.frames)),
        (READING, *captions(scene, reduced)),
    )
    return drawing if scene.heat is None else _heated(drawing, reduced, scene.heat)


def _heated(drawing: Drawing, reduced: Reduced, heat: Heat) -> Drawing:
    """The drawing with its boxes on the scale of a quantity."""
    values = [value_of(heat, (*piece.nodes, *piece.views, *piece.leaves)) for piece in reduced.pieces]
    scale, places = scaled(heat, values)
    boxes = tuple(replace(box, heat=at) for box, at in zip(drawing.boxes, places, strict=True))
    return replace(drawing, boxes=boxes, scale=scale)


def captions(scene: Scene, reduced: Reduced) -> tuple[str, ...]:
    """What was folded, in a sentence, if anything was; then the findings that no box can show."""
    folded = _words(reduced.folded)
    asked = Show.FINDINGS in scene.show
    nowhere = [finding.code for finding in scene.findings if asked and finding.node is None]
    said = (f"{', '.join(nowhere)}: no node stands for it, see `gradscope explain`.",) if nowhere else ()
    if not folded:
        return said
    shown = sum(piece.kind is PieceKind.NODE for piece in reduced.pieces)
    nodes = amount(len(scene.graph.nodes), "node")
    return (f"{shown:,} of {nodes} drawn one by one; {', '.join(folded)}.", *said)


def _words(folded: Folded) -> list[str]:
    pairs = (
        (folded.parameters, "{} in the box that uses it", "{} in the boxes that use them", "parameter"),
        (folded.views, "{} with its neighbour", "{} with their neighbours", "view"),
        (folded.closed, "{} in closed modules", "{} in closed modules", "node"),
        (folded.repeated, "{} like what is drawn", "{} like what is drawn", "node"),
        (folded.joined, "{} joined", "{} joined", "node"),
        (folded.chips, "{} with many users named in each", "{} with many users named in each", "parameter"),
        (folded.hidden, "{} left out", "{} left out", "parameter"),
        (folded.outside, "{} further away", "{} further away", "node"),
    )
    return [(one if count == 1 else more).format(amount(count, noun)) for count, one, more, noun in pairs if count]


def _arrow(link: Link) -> Arrow:
    return Arrow(link.tail, link.head, link.count, frozenset({Role.PRUNED}) if link.pruned else NO_ROLES)


def _cluster(frame: Frame) -> Cluster:
    roles = NO_ROLES if frame.group.level is None else frozenset({Role.LEVEL})
    return Cluster(_cluster_title((*frame.outer, frame.group)), frame.around, roles)


def _cluster_title(groups: tuple[Group, ...]) -> str:
    name = ".".join(group.name for group in groups)
    last = groups[-1]
    if last.level is not None:
        return f"{last.level}  torch.func transform"
    return f"{name}  {last.module_class}" if last.module_class not in ("", last.name) else name
