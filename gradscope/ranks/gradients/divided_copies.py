"""A parameter that ranks with parts of one model hold alike, and that each divides by their number, for a sum over them
makes it whole again: autograd divides its gradient as well, and nothing makes that whole."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from gradscope.model.graph import Graph
from gradscope.model.operation import base_name
from gradscope.model.site import Site, Stack, user_site
from gradscope.ranks.core.copies import Replicas, looks_of
from gradscope.ranks.core.known import NOISE, Ranks
from gradscope.ranks.core.losses import are_alike, losses_of
from gradscope.ranks.gradients.mean_losses import PROPORTIONAL, scales_gradients
from gradscope.ranks.gradients.reduced import DIVIDES, is_by_their_number
from gradscope.ranks.source.ways import is_collective
from gradscope.store.reader import Recording, load

_SUMS = ("c10d.allreduce_.", "_c10d_functional.all_reduce")
_LOOKS = 2  # at least, at which parameters are compared, and losses
_MOST = 8  # ranks
_DIVIDES = "DivBackward"


@dataclass(frozen=True, slots=True)
class DividedCopy:
    """The parameter, the line that divides it, and by how many ranks."""

    leaf: str
    site: Site
    world: int


def divided_copy(ranks: Ranks) -> DividedCopy | None:
    """The first such parameter."""
    members = tuple(one.rank for one in ranks.ranks)
    if any(one.is_wrapped or one.by_hand or one.in_hooks for one in ranks.averaging.values()):
        return None
    if not 1 < len(members) <= _MOST or not _sum_activations(ranks, members) or not _have_one_loss(ranks, members):
        return None
    trained = _trained_alike(ranks, Replicas(members, None))
    if not trained:
        return None
    with load(Path(ranks.rank(members[0]).path)) as recording:
        if not _steps_by_gradients_as_they_are(recording):
            return None
        own = {ranks.own(members[0], name): name for name in trained}
        for leaf, stack in _divided(recording).items():
            site = user_site(stack)
            is_meant = leaf in own and site is not None and _is_the_only_way(recording, leaf, site)
            if site is not None and is_meant and is_by_their_number(recording, stack, len(members)):
                return DividedCopy(own[leaf], site, len(members))
    return None


def _sum_activations(ranks: Ranks, members: tuple[int, ...]) -> bool:
    """Whether all ranks sum something of several dimensions on the way to backward calls."""
    sums = (one for one in ranks.collectives if one.operator.startswith(_SUMS) and not one.inside)
    of_all = (one for one in sums if one.group is not None and set(one.group.members) == set(members))
    return any(len(each.shape) > 1 for one in of_all for each in one.types)


def _have_one_loss(ranks: Ranks, members: tuple[int, ...]) -> bool:
    losses = losses_of(ranks, members)
    return len(losses[0]) >= _LOOKS and are_alike(losses, NOISE)


def _trained_alike(ranks: Ranks, every: Replicas) -> set[str]:
    """The parameters that are equal on all ranks at each look and change; none where ranks have no parts of a model."""
    looks = looks_of(ranks.weights, every)
    values: dict[str, list[set[float]]] = defaultdict(list)
    unlike = set[str]()
    for look in looks:
        there: dict[str, list[float]] = defaultdict(list)
        for content in ranks.weights.ranks[look]:
            for name, norm in ranks.weights.first[look, content].norms:
                there[name].append(float(norm))
        for name, each in there.items():
            is_alike = len(each) == len(ranks.weights.ranks[look]) and max(each) - min(each) <= NOISE * max(each)
            unlike.update(() if is_alike else (name,))
            values[name].append({min(each)})
    trained = {name for name, each in values.items() if len(set().union(*each)) > 1} - unlike
    return trained if unlike and len(looks) >= _LOOKS else set()


def _steps_by_gradients_as_they_are(recording: Recording) -> bool:
    """Whether all steps are proportional to gradients that nothing scales, and by one rate."""
    looks, rates = (
        list(recording.optimizer_looks()),
        {one.value for one in recording.learning_rates() if one.count <= 0},
    )
    calls = [call for call in recording.backwards() if call.number in recording.graph_sizes()]
    plain = bool(looks) and all(look.name == PROPORTIONAL for look in looks) and len(rates) < 2
    return plain and bool(calls) and not scales_gradients(recording, calls)


def _divided(recording: Recording) -> dict[str, Stack]:
    """The parameters that an operator divides by a number, of which ranks sum something before the first backward."""
    tensors = {one.number: one for one in recording.flow_tensors()}
    leaves = {one.storage: str(one.leaf) for one in tensors.values() if one.parameter and one.leaf}
    divided: dict[str, Stack] = {}
    comes: dict[int, frozenset[str]] = {}  # by memory: from which of these
    found = set[str]()
    for one in recording.flow():
        if one.backward is not None:
            break
        reads = [tensors[each.tensor].storage for each in one.reads if each.tensor in tensors]
        makes = [tensors[each].storage for each in one.makes if each in tensors]
        if is_collective(one.operation.name):
            found.update(*(comes.get(each, frozenset()) for each in reads if one.operation.name.startswith(_SUMS)))
            continue
        of = frozenset[str]().union(*(comes.get(each, frozenset()) for each in reads))
        if base_name(one.operation.name) in DIVIDES and len(reads) == 1 and reads[0] in leaves and one.operation.grad:
            divided.setdefault(leaves[reads[0]], one.operation.stack)
            of = frozenset((leaves[reads[0]],))
        comes.update(dict.fromkeys(makes, of))
    return {leaf: stack for leaf, stack in divided.items() if leaf in found}


def _is_the_only_way(recording: Recording, leaf: str, site: Site) -> bool:
    """Whether the gradient of a parameter comes from that division alone, and meets no other ranks on its way there."""
    look = min(recording.graph_sizes(), default=None)
    if look is None:
        return False
    graph = recording.graph(look)
    back: dict[int, list[int]] = defaultdict(list)
    for edge in graph.edges:
        back[edge.target].append(edge.source)
    own = [node.id for node in graph.nodes if node.leaf == leaf]
    if len(own) != 1 or graph.nodes[own[0]].hooks or len(back[own[0]]) != 1:
        return False
    divides = graph.nodes[back[own[0]][0]]
    if not divides.name.startswith(_DIVIDES) or str(divides.site) != str(site):
        return False
    meeting = {node for node, name in recording.operators(look) if node is not None and is_collective(name)}
    return meeting.isdisjoint(_above(graph, own[0], back))


def _above(graph: Graph, start: int, back: dict[int, list[int]]) -> set[int]:
    """A node and all from which a gradient comes to it."""
    found, waiting = {start}, [start]
    while waiting:
        new = [one for one in back[waiting.pop()] if one not in found]
        found.update(new)
        waiting += new
    return found & {node.id for node in graph.nodes}
