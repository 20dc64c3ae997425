"""What passes a gradient back from a part of a layer to a parameter that all ranks have, where nothing sums it: a
custom Function that computes with the part, one that lets its input in, or neither."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from gradscope.model.graph import Graph, Node
from gradscope.model.operation import base_name
from gradscope.model.site import Site
from gradscope.ranks.replicas.parted_products import PartedProduct
from gradscope.ranks.source.leaf_names import LeafNames
from gradscope.ranks.source.syntax import Function, at_line, nodes_of, tree_of
from gradscope.ranks.source.ways import is_collective
from gradscope.store.reader import Recording

_VIEWS = ("View", "UnsafeView", "T", "Transpose", "Permute", "Alias", "ToCopy", "Clone", "Reshape")
_LETS_THROUGH = frozenset(  # with what comes beside it, or put together again
    ("detach", "view", "alias", "clone", "view_as", "add", "add_", "cat", "stack", "permute", "transpose", "slice")
)

Told = tuple[str | None, Site | None]  # the name of a Function, if there is one, and the line


@dataclass(frozen=True, slots=True)
class Ways:
    """A graph, to which nodes each passes on, which nodes meet other ranks, and the names of its leaves."""

    graph: Graph
    onward: dict[int, list[int]]
    meeting: frozenset[int]
    leaves: dict[int, str]


def passes_back(recording: Recording, names: LeafNames, look: int, product: PartedProduct, leaf: str) -> Told | None:
    """The Function, if any, and the line of what passes a gradient on from a part to a leaf; None where each way
    between them leads through what meets other ranks."""
    if look not in recording.graph_sizes():
        return None
    ways = ways_at(recording, names, look)
    at = next((one for one in uses(ways, product.part) if one not in ways.meeting and leads(ways, one, leaf)), None)
    if at is None:
        return None
    return told_at(recording, names, look, ways, at, product)


def told_at(recording: Recording, names: LeafNames, look: int, ways: Ways, at: int, product: PartedProduct) -> Told:
    """The same of a node that is known to pass on what is a part."""
    node, entered = ways.graph.nodes[at], _entered(recording, ways, look, at)
    if node.function is not None:
        return node.function.bare_name, _makes(recording, names, look, node, product) or _returns(recording, node)
    if entered is not None and entered.function is not None:
        return entered.function.bare_name, _returns(recording, entered)
    return None, node.site


def ways_at(recording: Recording, names: LeafNames, look: int) -> Ways:
    """Those of the graph of a backward call."""
    graph = recording.graph(look)
    meeting = {node for node, name in recording.operators(look) if node is not None and is_collective(name)}
    onward: dict[int, list[int]] = defaultdict(list)
    for edge in graph.edges:
        onward[edge.source].append(edge.target)
    return Ways(graph, onward, frozenset(meeting), names.nodes(graph, look))


def uses(ways: Ways, part: str) -> Iterator[int]:
    """The nodes that pass a gradient to a part, or to what is computed of it alone, and to something else."""
    back: dict[int, list[int]] = defaultdict(list)
    for edge in ways.graph.edges:
        back[edge.target].append(edge.source)
    waiting = [at for at, name in ways.leaves.items() if name == part]
    seen = set(waiting)
    for at in waiting:  # grows while it is walked
        for one in dict.fromkeys(back[at]):
            if one in seen:
                continue
            seen.add(one)
            if leads_to_nothing_else(ways, one, part):
                waiting.append(one)
            else:
                yield one


def leads_to_nothing_else(ways: Ways, start: int, leaf: str) -> bool:
    """Whether a gradient comes from a node to one leaf alone."""
    waiting, seen = [start], {start}
    while waiting:
        for one in ways.onward[waiting.pop()]:
            if ways.leaves.get(one, leaf) != leaf:
                return False
            if one not in seen:
                seen.add(one)
                waiting.append(one)
    return True


def leads(ways: Ways, start: int, leaf: str) -> bool:
    """Whether a gradient comes from a node to a leaf by nodes that do not meet other ranks."""
    waiting, seen = [start], {start}
    while waiting:
        for one in ways.onward[waiting.pop()]:
            if one not in seen and one not in ways.meeting:
                if ways.leaves.get(one) == leaf:
                    return True
                seen.add(one)
                waiting.append(one)
    return False


def _entered(recording: Recording, ways: Ways, look: int, start: int) -> Node | None:
    """The custom Function that lets the input of a product in, and does nothing with what comes back."""
    computing = {node for node, name in recording.operators(look) if base_name(name) not in _LETS_THROUGH}
    waiting = list(ways.onward[start])
    for at in waiting:  # grows while it is walked
        node = ways.graph.nodes[at]
        if node.function is not None and at not in computing:
            return node
        if node.name.removesuffix("Backward0") in _VIEWS:
            waiting += ways.onward[at]
    return None


def _makes(recording: Recording, names: LeafNames, look: int, node: Node, product: PartedProduct) -> Site | None:
    """The line of a Function's backward that makes the gradient of its input."""
    tensors = {one.number: one for one in recording.flow_tensors()}
    part = {storage for storage, name in names.of_storage.items() if name == product.part}
    file = None if node.function is None or node.function.backward_site is None else node.function.backward_site.file
    called = next((call.site for call in recording.backwards() if call.number == look), None)
    for one in recording.flow():
        is_inside = one.backward == look and one.operation.node == node.id and one.site != called
        if is_inside and one.site is not None and one.site.file == file:
            reads_it = any(each.tensor in tensors and tensors[each.tensor].storage in part for each in one.reads)
            if reads_it and any(at in tensors and tensors[at].type.shape == product.shape for at in one.makes):
                return one.site
    return None


def _returns(recording: Recording, node: Node) -> Site | None:
    """The line by which a Function's backward hands its gradients on."""
    site = None if node.function is None else node.function.backward_site
    if site is None:
        return None
    functions = [one for one in nodes_of(tree_of(recording, site)) if isinstance(one, Function)]
    own = [one for one in functions if site.line in range(_first_line(one), (one.end_lineno or 0) + 1)]
    lines = [node.lineno for one in own[-1:] for node in ast.walk(one) if isinstance(node, ast.Return)]
    return at_line(recording, site, lines[-1]) if lines else site


def _first_line(function: Function) -> int:
    return min([function.lineno, *(one.lineno for one in function.decorator_list)])
