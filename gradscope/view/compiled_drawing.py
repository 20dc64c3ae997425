"""Draws one captured backward: nodes, hooks and accumulate_grad as calls in their places."""

from __future__ import annotations

from gradscope.model.compiled import CompiledKind, CompiledStep
from gradscope.view.compiled import CompiledScene, matched
from gradscope.view.drawing import Arrow, Box, Drawing
from gradscope.view.role import Role
from gradscope.view.words import leaf_words, place

READING = "Arrows run in the order of computing."
ROLES = {
    CompiledKind.NODE: Role.PLAIN,
    CompiledKind.HOOK: Role.HOOKED,
    CompiledKind.ACCUMULATE: Role.ACCUMULATE,
    CompiledKind.INLINED: Role.OPERATOR,
    CompiledKind.OTHER: Role.OPERATOR,
}


def draw(scene: CompiledScene) -> Drawing:
    """The graph of the chosen capture."""
    one = scene.chosen
    live = matched(scene, one)
    boxes = []
    for step in one.steps:
        node = live.get(step.node_call or 0)
        site = step.stack[0] if step.stack else None if node is None else node.site
        notes = (
            f"#{step.position}",
            f"at {step.node}" if step.kind is CompiledKind.HOOK and step.node else None,
            leaf_words(node.leaf) if node is not None and node.leaf is not None else None,
            place(site, scene.folder) if site is not None else None,
        )
        boxes.append(Box(_name(step), tuple(note for note in notes if note), frozenset({ROLES[step.kind]})))
    arrows = tuple(Arrow(before, step.position) for step in one.steps for before in step.inputs)
    words = f"{scene.origin}: capture {one.number} of compiled autograd"
    return Drawing(words, tuple(boxes), arrows, captions=(READING,))


def _name(step: CompiledStep) -> str:
    return f"{step.hook} {step.label}".strip() if step.kind is CompiledKind.HOOK else step.op
