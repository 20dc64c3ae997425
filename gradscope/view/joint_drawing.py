"""Draws a partition: a frame for the forward, one for the backward, and what is saved going from one to the other."""

from __future__ import annotations

from gradscope.model.joint import JointNode, Partition, PartitionStep, Region
from gradscope.view.drawing import Arrow, Box, Cluster, Drawing
from gradscope.view.joint import JointScene, heading, kind, remark
from gradscope.view.role import Role
from gradscope.view.words import place, size

READING = "Arrows run in the order of computing. What is saved goes from the forward to the backward."


def draw(scene: JointScene) -> Drawing:
    """The regions of a scene, one beside the other."""
    sketch = Sketch(scene)
    for region in scene.regions:
        sketch.place(region, scene.chosen(region))
    names = ", ".join(f"{heading(region)} ({scene.chosen(region).name} partition)" for region in scene.regions)
    words = f"{scene.origin}: {names}"
    return Drawing(words, tuple(sketch.boxes), tuple(sketch.drawn), tuple(sketch.clusters), (READING,))


class Sketch:
    """Boxes, arrows and clusters as they are placed."""

    def __init__(self, scene: JointScene) -> None:
        self.boxes: list[Box] = []
        self.drawn: list[Arrow] = []
        self.clusters: list[Cluster] = []
        self._folder = scene.folder

    def place(self, region: Region, cut: Partition) -> None:
        """Place both halves of a region; the backward takes what is saved from the boxes of the forward."""
        again = set(region.recomputed(cut))
        known: dict[int, int] = {}
        self._half("forward", region, cut, cut.forward, again, known)
        backward = {number: box for number, box in known.items() if number in cut.saved}
        self._half("backward", region, cut, cut.backward, again, backward)

    def _half(
        self,
        name: str,
        region: Region,
        cut: Partition,
        steps: tuple[PartitionStep, ...],
        again: set[int],
        known: dict[int, int],
    ) -> None:
        self.clusters.append(Cluster(f"region {region.number} {name}"))
        inside = len(self.clusters) - 1
        used = {number for step in steps for number in step.inputs}
        for step in steps:
            node = region.nodes[step.node]
            if step.node in known or (node.is_input and step.node not in used):
                continue  # saved by the forward, where its box stands; or an input that this half does not use
            known[step.node] = len(self.boxes)
            self.boxes.append(Box(node.name, self._notes(region, node), _roles(node, cut, again), inside))
            self.drawn.extend(Arrow(known[number], known[step.node]) for number in step.inputs if number in known)

    def _notes(self, region: Region, node: JointNode) -> tuple[str, ...]:
        said = remark(region, node)
        notes = (
            None if node.is_input else node.op,
            kind(node),
            said,
            size(node.bytes) if node.type is not None else None,
            place(node.site, self._folder) if node.site is not None else None,
        )
        return tuple(note for note in notes if note)


def _roles(node: JointNode, cut: Partition, again: set[int]) -> frozenset[Role]:
    roles = {Role.INPUT if node.is_input else Role.ADDITION if node.uses else Role.OPERATOR}
    if node.id in cut.saved:
        roles.add(Role.KEPT)
    if node.id in again:
        roles.add(Role.AGAIN)
    return frozenset(roles)
