"""GS877: weights that are kept from being negative by a ReLU, and are stuck where they were."""

from __future__ import annotations

from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.numbers.weight_growth import samples_of
from gradscope.explain.evidence.case import Case
from gradscope.model.graph import Graph, Node

_CUTS = ("ReluBackward", "ClampBackward", "ClampMinBackward", "ThresholdBackward")
_SAMPLES, _SHARE, _FEW = 3, 0.2, 4


def weights_behind_relu(case: Case) -> Iterator[Cause]:
    """What it flags: a parameter that goes through a ReLU before its use, and of which more and more gets no gradient.

    Why: an element that a step makes negative is used as 0 and has the derivative 0: no later step brings it back, in
    whatever direction the loss would have it go.

    Wrong:
        return x @ F.relu(self.weight)

    Right:
        return x @ F.softplus(self.weight)

    Do instead: use softplus or exp, or clamp the parameter itself after each step, under no_grad.

    How it is found: the node of the parameter leads to nothing but a ReLU or a clamp from below; its gradient, measured
    in the steps 0, 1, 2, 4, 8, ..., is exactly zero for a fifth of its elements in the last two, and for more than at
    first. A hint: somebody may want sparse weights.
    """
    samples = samples_of(case)
    if len(samples) < _SAMPLES:
        return
    for name, size in samples[-1].items():
        sizes = [one[name] for one in samples if name in one]
        stuck = len(sizes) >= _SAMPLES and min(one.zero_share for one in sizes[-2:]) >= _SHARE
        if size.count < _FEW or not stuck or size.zero_share <= sizes[0].zero_share:
            continue
        node = _only_user(case.graph(size.backward), name)
        if node is not None and node.short_name.startswith(_CUTS) and node.site is not None:
            lost = round(size.zero_share * size.count)
            yield Cause(
                f"{lost} of {size.count} elements of {name} get no gradient through this: what is negative stays so",
                node.site,
                node=node.id,
                tensor=name,
                backward=size.backward,
                certain=False,
            )


def _only_user(graph: Graph, name: str) -> Node | None:
    """The node to which all edges of a leaf come from."""
    leaf = next((node.id for node in graph.nodes if node.leaf == name and node.accumulates), None)
    users = {edge.source for edge in graph.edges if edge.target == leaf}
    return graph.nodes[users.pop()] if leaf is not None and len(users) == 1 else None
