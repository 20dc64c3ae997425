"""What a graph keeps for its backward: bytes by line, module, node or kind of node, each storage counted once.

A storage that several nodes keep is counted where the engine comes to last: until then it cannot be freed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from gradscope.measures.places import PLACES, UNITS
from gradscope.model.graph import Graph, Node
from gradscope.model.table import Column, Row, Table, Unit

KINDS = ("activation", "input", "parameter")


def memory(graph: Graph, by: str) -> Table:
    """Bytes saved by each place: those of activations, of inputs and of leaves. Each column adds up to its total."""
    keeper = _keepers(graph)
    groups: dict[str, list[Node]] = defaultdict(list)
    for node in graph.nodes:
        if node.saved:
            groups[PLACES[by](node)].append(node)
    rows = [_row(name, nodes, keeper) for name, nodes in groups.items()]
    columns = (
        Column(by, UNITS[by], "what keeps them"),
        Column("activations", Unit.BYTES, "computed by the forward; kept until the backward of this place"),
        Column("shared", Unit.BYTES, "kept here too, and counted at another place"),
        Column("inputs", Unit.BYTES, "data, buffers and what was made of them alone, outside of modules"),
        Column("parameters", Unit.BYTES, "of parameters and other leaves, which live on anyway"),
        Column("tensors", Unit.COUNT, "how many tensors"),
    )
    saved = [tensor for node in graph.nodes for tensor in node.saved]
    activations, inputs, parameters = (sum(_sizes(graph.nodes, kind).values()) for kind in KINDS)
    total = ("total", activations, None, inputs, parameters, len(saved))
    return Table("memory", columns, tuple(rows), total=total).sorted_by("activations")


def checkpointing(graph: Graph) -> Table:
    """What checkpointing a module would free: what its nodes keep, less what it shares with the rest."""
    inside: dict[str, set[int]] = defaultdict(set)
    kinds: dict[str, str] = {}
    for node in graph.nodes:
        for call in node.module.chain if node.module is not None else ():
            inside[call.label].add(node.id)
            kinds[call.label] = call.module_class
    rows = [(label, kinds[label], *_freed(graph, nodes), len(nodes)) for label, nodes in inside.items()]
    columns = (
        Column("module", help="a module call"),
        Column("class"),
        Column("frees", Unit.BYTES, "saved by its nodes alone: gone until its backward recomputes them"),
        Column("keeps", Unit.BYTES, "saved by its nodes and by others: checkpointing does not free it"),
        Column("nodes", Unit.COUNT, "to be computed once more"),
    )
    note = "checkpointing keeps a module's inputs, which may be among what it frees here when nothing else saves them"
    return Table("memory", columns, tuple(rows), (note,)).sorted_by("frees")


def kept(graph: Graph) -> int:
    """Bytes of activations kept, each storage once."""
    return sum(_sizes(graph.nodes).values())


def _sizes(nodes: Iterable[Node], kind: str = KINDS[0]) -> dict[int, int]:
    """The bytes of each storage of a kind."""
    return {tensor.storage: tensor.bytes for node in nodes for tensor in node.saved if tensor.kind == kind}


def _keepers(graph: Graph) -> dict[int, int]:
    """The node that lets go of each storage last."""
    last: dict[int, tuple[int, int]] = {}
    for node in graph.nodes:
        order = -1 if node.order is None else node.order
        for tensor in node.saved:
            last[tensor.storage] = max(last.get(tensor.storage, (-2, 0)), (order, node.id))
    return {storage: node for storage, (_, node) in last.items()}


def _row(name: str, nodes: list[Node], keeper: dict[int, int]) -> Row:
    numbers = {node.id for node in nodes}
    kinds = [_sizes(nodes, kind) for kind in KINDS]
    own = [sum(size for storage, size in sizes.items() if keeper[storage] in numbers) for sizes in kinds]
    shared = sum(sum(sizes.values()) for sizes in kinds) - sum(own)
    activations, inputs, parameters = own
    return name, activations, shared, inputs, parameters, sum(len(node.saved) for node in nodes)


def _freed(graph: Graph, nodes: set[int]) -> tuple[int, int]:
    inside = _sizes(node for node in graph.nodes if node.id in nodes)
    outside = _sizes(node for node in graph.nodes if node.id not in nodes)
    alone = sum(size for storage, size in inside.items() if storage not in outside)
    return alone, sum(inside.values()) - alone
