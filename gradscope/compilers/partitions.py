"""Ways to cut a joint graph, each tried on a copy, because torch's partitioners work in place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import fx

from gradscope.compilers.describe import Describer
from gradscope.model.joint import Half, Partition, PartitionStep
from gradscope.torch_internals.find import bound

PARTITIONERS = {
    "default": "torch._functorch.partitioners.default_partition",
    "min-cut": "torch._functorch.partitioners.min_cut_rematerialization_partition",
}
Halves = tuple[fx.GraphModule, fx.GraphModule]


def copied(joint: fx.GraphModule) -> fx.GraphModule:
    """The graph again; what it refers to (constants, subgraphs) is shared."""
    graph = fx.Graph()
    copy: Any = graph.graph_copy(joint.graph, {}, return_output_node=True)
    value, original = copy
    graph.output(value).meta.update(original.meta)
    return fx.GraphModule(joint, graph)


def tried(name: str, joint: fx.GraphModule, arguments: dict[str, Any], described: Describer) -> Partition:
    """What one of torch's partitioners makes of a copy. `arguments` are those of a partitioner, by name."""
    partitioner: Callable[..., Halves] = bound(PARTITIONERS[name])
    with bound("torch._functorch.config.patch")(_sync_decision_cross_ranks=False):  # other ranks do not ask
        forward, backward = partitioner(copied(joint), (), **arguments)
    return read(name, forward, backward, arguments["num_fwd_outputs"], described)


def read(name: str, forward: fx.GraphModule, backward: fx.GraphModule, outputs: int, described: Describer) -> Partition:
    """The two halves of a partition as the model has them. `outputs`: how many of the forward's are its results."""
    steps = _steps(forward, Half.FORWARD, described)
    values: Any = next(iter(forward.graph.find_nodes(op="output"))).args[0]
    saved = tuple(described.number[node.name] for node in values[outputs:] if isinstance(node, fx.Node))
    return Partition(name, saved, steps, _steps(backward, Half.BACKWARD, described))


def _steps(half: fx.GraphModule, phase: Half, described: Describer) -> tuple[PartitionStep, ...]:
    steps = []
    for node in half.graph.nodes:
        if node.op == "output":
            continue
        number = described.add(node, phase)
        inputs = tuple(described.number[one.name] for one in node.all_input_nodes)
        steps.append(PartitionStep(number, inputs))
    return tuple(steps)
