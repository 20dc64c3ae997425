"""What `--show` adds to a node: its findings, gradients, saved tensors and hooks, a row each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from gradscope.model.finding import Finding, Severity
from gradscope.model.graph import Node
from gradscope.model.tensor import SavedTensor
from gradscope.view.drawing import Row
from gradscope.view.role import Role
from gradscope.view.scene import Scene, Show
from gradscope.view.words import amount, beginning, size

MOST_ROWS = 8  # of one kind for a node
SIGNS = {Severity.ERROR: "✗", Severity.WARNING: "!", Severity.INFO: "i"}


class Details:
    """What to say of the nodes of a scene, in as much detail as the scene asks for."""

    def __init__(self, scene: Scene) -> None:
        self._show = scene.show
        self._gradients = {one.node: one for one in reversed(scene.gradients) if one.side == "in"}
        self._findings: dict[int, list[Finding]] = defaultdict(list)
        for finding in scene.findings:
            if finding.node is not None:
                self._findings[finding.node].append(finding)

    def rows(self, node: Node, sums: int) -> Iterator[Row]:
        """All that was asked for. `sums` is how many gradients the engine adds before the node runs."""
        yield from self.findings(node)
        yield from self.gradient(node, sums)
        yield from self.saved(node)
        yield from self.hooks(node)

    def findings(self, node: Node) -> Iterator[Row]:
        """`✗ GS701 h was edited…`, whether asked or not; its name when findings are asked for."""
        for finding in self._findings.get(node.id, ()):
            said = finding.name if Show.FINDINGS in self._show else beginning(finding.message)
            yield Row(f"{SIGNS[finding.severity]} {finding.code} {said}".rstrip(), Role.FINDING)

    def gradient(self, node: Node, sums: int) -> Iterator[Row]:
        """Whether gradients of several uses are added, and the norm of what comes in."""
        if Show.GRADS in self._show and sums > 1:
            yield Row(f"adds {sums} gradients", Role.ADDITION)
        if Show.GRADS in self._show and node.id in self._gradients:
            yield Row(self._gradients[node.id].norm_words, Role.TYPE)

    def saved(self, node: Node) -> Iterator[Row]:
        """Each tensor that it keeps, parameters left out."""
        kept = [tensor for tensor in node.saved if tensor.leaf is None]
        if Show.SAVED in self._show:
            yield from some([Row(_tensor_words(tensor), Role.SAVED) for tensor in kept], "saved tensor")

    def hooks(self, node: Node) -> Iterator[Row]:
        """Each hook on it."""
        if Show.HOOKS in self._show:
            yield from some([Row(f"{hook.kind} hook {hook.name}", Role.HOOKED) for hook in node.hooks], "hook")


def some(rows: list[Row], noun: str) -> Iterator[Row]:
    """The first rows, as many as a reader will look at."""
    if len(rows) <= MOST_ROWS:
        yield from rows
        return
    yield from rows[: MOST_ROWS - 1]
    yield Row(f"and {amount(len(rows) - MOST_ROWS + 1, noun)} more", rows[-1].role)


def _tensor_words(tensor: SavedTensor) -> str:
    """`mat1  float32[8, 3]  96 B`; under torch.func tensors have no bytes of their own."""
    return "  ".join([tensor.name, str(tensor.type), *([size(tensor.bytes)] if tensor.bytes else [])])
