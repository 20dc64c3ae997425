"""Parts of a layer whose input all ranks have, told by the graph alone: the input also comes to the loss beside the
part, as it does around a residual block, or is let in elsewhere by what sums its gradient. No whole need be known."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gradscope.model.operation import base_name
from gradscope.ranks.replicas.passing_back import Ways, leads_to_nothing_else, uses, ways_at
from gradscope.ranks.source.leaf_names import LeafNames
from gradscope.ranks.source.ways import is_collective
from gradscope.store.reader import Recording

_SUMS = frozenset(("allreduce_", "all_reduce"))
_TURNS = ("T", "Transpose", "Permute", "View", "Alias", "Expand")


@dataclass(frozen=True, slots=True)
class CommonInput:
    """The node that computes with a part of a layer, the part, and the leaves that all ranks have, which its input is
    computed from and to which it passes a gradient that no rank sums."""

    ways: Ways
    node: int
    part: str
    leaves: frozenset[str]


def common_inputs(
    recording: Recording, names: LeafNames, look: int, alike: set[str], unlike: set[str]
) -> Iterator[CommonInput]:
    """Those of a backward call, at which all ranks have one loss and `alike` leaves are the same, `unlike` ones not."""
    if look not in recording.graph_sizes() or not _sums_alone(recording):
        return
    ways = ways_at(recording, names, look)
    parts = {node: part for part in sorted(unlike) for node in uses(ways, part)}
    exchanging = {node.id for node in ways.graph.nodes if node.function is not None} | ways.meeting
    before_sums = _reached(ways, [0], exchanging)
    common = _reached(ways, [0], exchanging | parts.keys()) | _let_in(recording, ways, look)
    common = {node for node in common if not _is_of_a_leaf(ways, node)}
    for node, part in parts.items():
        if node in before_sums or node in ways.meeting:
            continue  # what one rank makes alone comes to the loss
        inputs = _inputs(ways, node, part, common)
        leaves = frozenset(ways.leaves[at] for at in _reached(ways, inputs, ways.meeting) if at in ways.leaves)
        if leaves & alike:
            yield CommonInput(ways, node, part, leaves & alike)


def _sums_alone(recording: Recording) -> bool:
    """Whether ranks exchange nothing but sums on the way to backward calls: of what is gathered, a loss is the same on
    all ranks that have unlike inputs."""
    met = {base_name(one.operation.name) for one in recording.flow() if is_collective(one.operation.name)}
    return met <= _SUMS | {"barrier", "broadcast_", "broadcast"}


def _reached(ways: Ways, starts: list[int], without: frozenset[int] | set[int]) -> set[int]:
    """The nodes to which a gradient comes from some, these included, by others than those without."""
    waiting = [one for one in starts if one not in without]
    seen = set(waiting)
    for at in waiting:  # grows while it is walked
        new = [one for one in dict.fromkeys(ways.onward[at]) if one not in seen and one not in without]
        seen.update(new)
        waiting += new
    return seen


def _let_in(recording: Recording, ways: Ways, look: int) -> set[int]:
    """The nodes whose gradient a Function sums over the ranks, and does nothing else."""
    ran: dict[int, set[str]] = {}
    for node, name in recording.operators(look):
        if node is not None:
            ran.setdefault(node, set()).add(base_name(name))
    summing = (node for node in ways.meeting if ran.get(node, set()) & _SUMS and len(ways.onward[node]) == 1)
    return {ways.onward[node][0] for node in summing}


def _is_of_a_leaf(ways: Ways, node: int) -> bool:
    """Whether a node is a leaf, or turns one: no input."""
    if node in ways.leaves:
        return True
    turns = ways.graph.nodes[node].name.removesuffix("Backward0") in _TURNS
    return turns and any(leads_to_nothing_else(ways, node, leaf) for leaf in set(ways.leaves.values()))


def _inputs(ways: Ways, node: int, part: str, common: set[int]) -> list[int]:
    """The common nodes that all of a part's input is computed from; none where it is computed from anything else."""
    found: dict[int, None] = {}
    waiting = [one for one in ways.onward[node] if not leads_to_nothing_else(ways, one, part)]
    seen = set(waiting)
    for at in waiting:  # grows while it is walked
        if at in common:
            found[at] = None
        elif at not in ways.leaves and at not in ways.meeting:
            inner = [one for one in ways.onward[at] if one not in ways.leaves]
            if not inner:
                return []  # of samples, say
            waiting += [one for one in inner if one not in seen]
            seen.update(inner)
    return list(found)
