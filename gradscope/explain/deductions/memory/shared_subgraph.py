"""The piece of graph that two backward calls reach: what a failed call shares with the one that ran it before."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from gradscope.explain.evidence.case import Case
from gradscope.model.graph import Backward, Graph, Node
from gradscope.model.mutation import Reused
from gradscope.model.site import Origin, Stack


@dataclass(frozen=True, slots=True)
class SharedSubgraph:
    """What a failed backward shares with `first`. `node` is the youngest shared node, where the shared piece begins.

    `reader` is the node of the failed call that reads it, None when the failed call began at `node` itself; `before` is
    its reader in the first call that is not shared. `carried` is the last node behind it that was made before the first
    call ran: its result went over into what the failed call differentiates.
    """

    first: Backward
    node: Node
    reader: Node | None
    before: Node | None
    leaves: frozenset[str]
    carried: Node

    def repeats(self, second: Backward) -> bool:
        """Whether both calls come from the same lines, as in a loop."""
        return lines(self.first.stack) == lines(second.stack)


def shared_subgraph(case: Case, call: Backward, node: int) -> SharedSubgraph | None:
    """The shared piece that contains a node of a failed call; None when no recorded call had run that node."""
    graph = case.graph(call.number)
    rows = {one.node: one for one in case.reused() if one.backward == call.number}
    rows = {number: one for number, one in rows.items() if not graph.nodes[number].accumulates}
    if node not in rows:
        return None
    if not kept_its_graph(case, rows[node]):  # what a call with create_graph read in between is innocent
        rows = {number: one for number, one in rows.items() if not kept_its_graph(case, one)}
    top, reader = _climb(graph, node, set(rows))
    first = case.backwards_by_number().get(rows[node].earlier)
    if first is None:
        return None
    former = case.graph(first.number)
    earlier = {one.earlier_node for one in rows.values()}
    before = _reader_before(former, rows[top].earlier_node, earlier)
    leaves = frozenset(one.leaf for one in below(graph, top) if one.leaf is not None)
    carried = _last_before(graph, top, max(_age(former, one.id) for one in former.nodes))
    return SharedSubgraph(first, graph.nodes[top], reader, before, leaves, carried)


def kept_its_graph(case: Case, one: Reused) -> bool:
    """Whether the earlier call of a node left its graph whole, as torch.autograd.grad(create_graph=True) does."""
    earlier = case.backwards_by_number().get(one.earlier)
    return earlier is not None and earlier.keep_graph


def lines(stack: Stack) -> tuple[tuple[str, int], ...]:
    """The user's lines in a stack."""
    return tuple((site.file, site.line) for site in stack if site.origin is Origin.USER)


def below(graph: Graph, node: int) -> list[Node]:
    """The nodes that a node's gradient flows to, itself first."""
    targets = defaultdict(list)
    for edge in graph.edges:
        targets[edge.source].append(edge.target)
    found, seen = [node], {node}
    for one in found:  # grows while it is walked
        for target in targets[one]:
            if target not in seen:
                seen.add(target)
                found.append(target)
    return [graph.nodes[one] for one in found]


def _climb(graph: Graph, node: int, known: set[int]) -> tuple[int, Node | None]:
    """From a shared node up to the youngest shared one that leads there, and a node above it that is not shared."""
    sources = defaultdict(list)
    for edge in graph.edges:
        sources[edge.target].append(edge.source)
    found, seen = [node], {node}
    ends: list[tuple[int, int, int | None]] = []
    for one in found:
        for source in sources[one]:
            if source not in known:
                ends.append((_age(graph, one), one, source))
            elif source not in seen:
                seen.add(source)
                found.append(source)
        if one in graph.roots:
            ends.append((_age(graph, one), one, None))
    _, top, reader = max(ends, key=lambda end: (end[0], end[2] is None), default=(0, node, None))
    return top, None if reader is None else graph.nodes[reader]


def _last_before(graph: Graph, node: int, newest: int) -> Node:
    """From a node up to the youngest of those that read it and are not younger than `newest`."""
    sources = defaultdict(list)
    for edge in graph.edges:
        sources[edge.target].append(edge.source)
    found, seen = [node], {node}
    for one in found:
        older = [source for source in sources[one] if -1 < _age(graph, source) <= newest and source not in seen]
        seen.update(older)
        found += older
    return graph.nodes[max(found, key=lambda one: _age(graph, one))]


def _reader_before(graph: Graph, node: int, known: set[int]) -> Node | None:
    """The node of the first call that reads the shared piece and is not in it."""
    readers = [edge.source for edge in graph.edges if edge.target == node and edge.source not in known]
    return graph.nodes[readers[0]] if readers else None


def _age(graph: Graph, node: int) -> int:
    number = graph.nodes[node].seq_nr
    return -1 if number is None else number
