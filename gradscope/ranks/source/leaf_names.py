"""What the leaves of a recording are called: those that no module and no variable names by where they were seen first,
as they are where they were measured."""

from __future__ import annotations

from dataclasses import dataclass, field

from gradscope.model.flow import FlowTensor
from gradscope.model.graph import Graph
from gradscope.store.file import damage_is_one_sentence
from gradscope.store.rank_reader import read_each_weight, read_graphs
from gradscope.store.reader import Recording

NAMELESS = "leaf"  # what all are called that nothing names


@dataclass(frozen=True, slots=True)
class LeafNames:
    """The name of each leaf by its memory, and by backward and node; the leaves, of which there are views."""

    of_storage: dict[int, str] = field(default_factory=dict)
    of_node: dict[tuple[int, int], str] = field(default_factory=dict)
    leaves: dict[int, FlowTensor] = field(default_factory=dict)

    def nodes(self, graph: Graph, backward: int) -> dict[int, str]:
        """The leaves of a backward's graph, by node."""
        known = {node.id: node.leaf for node in graph.nodes if node.leaf is not None}
        return {at: self.of_node.get((backward, at), name) for at, name in known.items()}


def leaf_names(recording: Recording) -> LeafNames:
    """All of them, as far as the way of tensors is recorded."""
    found, measured = LeafNames(), _measured(recording)
    tensors = {one.number: one for one in recording.flow_tensors()}
    for one in tensors.values():
        if one.parameter and one.leaf not in (None, NAMELESS):
            found.of_storage[one.storage], found.leaves[one.storage] = str(one.leaf), one
    graphs, sizes = dict[int, Graph](), recording.graph_sizes()
    for look in sorted(recording.leaf_gradients(), key=lambda look: (look.backward, look.node)):
        tensor = tensors.get(look.tensor)
        if tensor is None or look.backward not in sizes:
            continue
        storage = tensor.storage
        if storage not in found.of_storage:
            if look.backward not in graphs:
                graphs[look.backward] = recording.graph(look.backward)
            nodes = graphs[look.backward].nodes
            name = nodes[look.node].leaf if look.node < len(nodes) else None
            own = f"{NAMELESS} of node {look.node} of backward {measured.get(look.backward, look.backward)}"
            found.of_storage[storage] = own if name in (None, NAMELESS) else str(name)
            found.leaves[storage] = tensor
        found.of_node[look.backward, look.node] = found.of_storage[storage]
    return found


def _measured(recording: Recording) -> dict[int, int]:
    """By backward call: the first one of its graph in which leaves were measured; their nodes are the same there."""
    with damage_is_one_sentence(recording.path):
        rows, interned = recording.tables.rows, recording.tables.interned
        looks = sorted({one.backward for one in read_each_weight(rows, interned)})
        graphs = read_graphs(rows) if looks else {}
    first: dict[int, int] = {}
    for look in looks:
        if look in graphs:
            first.setdefault(graphs[look], look)
    return {number: first[graph] for number, graph in graphs.items() if graph in first}
