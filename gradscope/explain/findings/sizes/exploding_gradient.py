"""GS738: gradients that grow from layer to layer on their way back.

The surprise: weights do not show it, because where a gradient explodes the activations often do, too, and a weight's
gradient is the product of the two. A bias gets the layer's gradient alone.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.numbers.steadiness import steadiness
from gradscope.explain.deductions.numbers.weight_growth import samples_of
from gradscope.explain.evidence.case import Case
from gradscope.model.graph import Graph, Node
from gradscope.model.size import LeafSize

_SAMPLES = 3
_LAYERS = 5
_EXPLODED = 1e3
_STEADILY = 0.8  # correlation of depth and logarithm


def exploding_gradient(case: Case) -> Iterator[Cause]:
    """What it flags: gradients that are a thousand times larger in the first layers than in the last ones.

    Why: each layer multiplies the gradient by its weights. Where these are too large, or each layer adds its input
    again, it grows with every layer; the first ones are thrown about, and clipping then holds all others still.

    Wrong:
        nn.init.normal_(layer.weight, std=1.0)

    Right:
        nn.init.kaiming_normal_(layer.weight)

    Do instead: use an initialisation that keeps the variance, normalisation between the layers, or a smaller factor on
    each layer's output.

    How it is found: the root mean square of each bias' gradient, in the steps 0, 1, 2, 4, 8, ...: in each of them it
    grows, about as much with every layer, the farther the layer is from the loss. The line named is the one that runs
    most of these layers.
    """
    samples = samples_of(case)
    if len(samples) < _SAMPLES:
        return
    graph = case.graph(max(size.backward for size in samples[-1].values()))
    layers = _layers(graph)
    explodes = [_grows([one[name] for name in layers if name in one]) for one in samples]
    if not all(explodes):
        return
    sizes = [samples[-1][name] for name in layers if name in samples[-1]]
    near, far = sizes[0], sizes[-1]
    node = _most_common(list(layers.values()))
    if node is not None:
        yield Cause(
            f"the gradient of {near.leaf} is {near.typical:.1e}, that of {far.leaf} {far.typical:.1e}, and grew from "
            f"layer to layer in every step measured: it explodes on its way back through {len(sizes)} layers",
            node.site,
            node=node.id,
            tensor=far.leaf,
            backward=far.backward,
            certain=False,
        )


def _layers(graph: Graph) -> dict[str, Node]:
    """The biases, each with the node that uses it, in backward order: those near the loss first."""
    users = {edge.target: graph.nodes[edge.source] for edge in graph.edges}
    found = {
        node.leaf: users[node.id]
        for node in graph.nodes
        if node.leaf is not None and node.leaf.endswith("bias") and node.accumulates and node.id in users
    }
    return dict(sorted(found.items(), key=lambda one: -(one[1].seq_nr or 0)))


def _grows(sizes: list[LeafSize]) -> bool:
    """Whether gradients grow from the loss to the input: a thousandfold, by about as much in each layer."""
    logarithms = [math.log(size.typical) for size in sizes if 0.0 < size.typical < math.inf]
    if len(logarithms) < max(_LAYERS, len(sizes)) or logarithms[-1] - logarithms[0] < math.log(_EXPLODED):
        return False
    return steadiness(logarithms) >= _STEADILY


def _most_common(nodes: list[Node]) -> Node | None:
    """A node of the line that made most of them."""
    sites = Counter(node.site for node in nodes if node.site is not None)
    if not sites:
        return None
    site = sites.most_common(1)[0][0]
    return next(node for node in nodes if node.site == site)
