"""Memory while a backward runs: what is still saved or computed again, and the gradients that wait for their node.

An estimate from the graph: what a node's own operators use in between is not in it.
"""

from __future__ import annotations

from dataclasses import dataclass

from gradscope.model.graph import Graph, Node


@dataclass(frozen=True, slots=True)
class Peak:
    """The most bytes in use when a node runs: saved activations, what checkpoints computed again, and gradients."""

    node: int | None
    saved: int
    gradients: int
    again: int = 0

    @property
    def bytes(self) -> int:
        """All together."""
        return self.saved + self.gradients + self.again


def peak(graph: Graph) -> Peak:
    """The peak of one backward. With retain_graph nothing that is saved is freed on the way."""
    ran = sorted((node for node in graph.nodes if node.order is not None), key=lambda node: node.order or 0)
    uses = _uses(ran)
    sizes = {tensor.storage: tensor.bytes for node in ran for tensor in node.saved if tensor.kind == "activation"}
    waiting = set(graph.roots)  # nodes whose gradients lie there
    received = [_gradient(node) for node in graph.nodes]
    gradients = sum(received[root] for root in waiting)
    saved = sum(sizes.values())
    highest, again = Peak(None, saved, 0), _Again(ran)
    targets: dict[int, list[int]] = {}
    for edge in graph.edges:
        targets.setdefault(edge.source, []).append(edge.target)
    for node in ran:
        if node.id not in waiting:
            waiting.add(node.id)
            gradients += received[node.id]
        computed = again.before(node)
        if saved + gradients + computed > highest.bytes:
            highest = Peak(node.id, saved, gradients, computed)
        for target in targets.get(node.id, ()):
            if target not in waiting and graph.nodes[target].order is not None:
                waiting.add(target)
                gradients += received[target]
        if not node.accumulates:  # what an accumulator received lives on as .grad
            waiting.remove(node.id)
            gradients -= received[node.id]
        if not graph.backward.keep_graph:
            saved -= _freed(node, uses, sizes)
        again.after(node)
    return highest


class _Again:
    """What checkpoints have computed again: all of one when its first node runs, and gone node by node."""

    def __init__(self, ran: list[Node]) -> None:
        self._sizes: dict[int, int] = {}
        self._there: set[int] = set()
        self._bytes = 0
        for node in ran:
            for one in node.again:
                self._sizes[one.checkpoint] = self._sizes.get(one.checkpoint, 0) + one.bytes

    def before(self, node: Node) -> int:
        """The bytes when a node runs."""
        for one in node.again:
            if one.checkpoint not in self._there:
                self._there.add(one.checkpoint)
                self._bytes += self._sizes[one.checkpoint]
        return self._bytes

    def after(self, node: Node) -> None:
        """A node has run, and let go of its part."""
        self._bytes -= sum(one.bytes for one in node.again)


def _gradient(node: Node) -> int:
    """Bytes of the gradients that a node receives."""
    return sum(meta.bytes for meta in node.inputs_meta if meta is not None)


def _uses(nodes: list[Node]) -> dict[int, int]:
    """How many nodes keep each storage."""
    uses: dict[int, int] = {}
    for node in nodes:
        for storage in {tensor.storage for tensor in node.saved}:
            uses[storage] = uses.get(storage, 0) + 1
    return uses


def _freed(node: Node, uses: dict[int, int], sizes: dict[int, int]) -> int:
    freed = 0
    for storage in {tensor.storage for tensor in node.saved}:
        uses[storage] -= 1
        if not uses[storage]:
            freed += sizes.get(storage, 0)
    return freed
