"""GS768: a gather in a custom Function whose backward gives back a rank's own part, without what others' losses add, or
with what they add to parts of their own."""

from __future__ import annotations

import ast
import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from gradscope.model.finding import Related
from gradscope.model.graph import Graph, Node
from gradscope.model.operation import base_name
from gradscope.model.rank import Collective
from gradscope.model.site import Site, Stack, user_frames
from gradscope.ranks.core.kind import Blame
from gradscope.ranks.core.known import Ranks
from gradscope.ranks.source.syntax import Function, at_line, nodes_of, tree_of
from gradscope.ranks.source.ways import is_collective, ways_of
from gradscope.store.reader import Recording, load

_GATHERS = ("c10d.allgather_", "c10d._allgather_base_", "_c10d_functional.all_gather_into_tensor")
_SUMS = ("c10d.allreduce_", "_c10d_functional.all_reduce")
_SCALES = frozenset(("mul", "mul_", "div", "div_"))  # by which a backward may make up for the others
_LOSSES = 2  # at least, that are compared
_ALIKE = 1e-3  # relative


@dataclass(frozen=True, slots=True)
class OwnPart:
    """The Function, the line that gives the part back, or sums it, that of the gather, and among how many ranks."""

    function: str
    returns: Site
    gather: Site | None
    world: int
    is_summed: bool = False


def own_part_alone(ranks: Ranks) -> Iterator[Blame]:
    """What it flags:
        A custom Function that gathers, and whose backward gives back a rank's part of its own gradient, without a sum,
        or sums after each rank has cut out its part.
    Why:
        What was gathered goes into the loss of each rank, and each of these losses adds to the gradient of what this
        rank has put in. Without a sum over the ranks only its own does: the rows of others are compared with, and never
        moved by that comparison.
    Wrong:
        return gradient.chunk(world)[rank]  # in the backward of what gathers in its forward
    Right:
        dist.all_reduce(gradient)
        return gradient.chunk(world)[rank]
    Do instead:
        Sum the gradient over the ranks before the part is taken, or reduce_scatter it; or take
        torch.distributed.nn.functional.all_gather, which does so.
    How it is found:
        A hint. The Function receives as many times more numbers than it gives as there are ranks, and not the same ones
        on all of them, it scales nothing, no collective runs in it, nor in what leads to it or what it leads to before
        leaves, and the losses of these ranks are not the same: one loss of all needs no sum. Or the one collective of
        its backward is a sum among the ranks that it gathers from, of as many numbers as it gives, where it is told by
        the line of the sum. The line is that which returns the part; where another use of the Function sums, that of
        the call which chooses otherwise.
    """
    own = _own_part(ranks)
    if own is not None and own.is_summed:
        yield Blame(
            f"{own.function} gathers from {own.world:,} ranks, and its backward sums over them the part that each has "
            "cut out for itself: gradients of different parts are added to each other",
            own.returns,
            () if own.gather is None else (Related("cause_at", own.gather, "where it gathers"),),
            operator=own.function,
        )
    elif own is not None:
        yield Blame(
            f"{own.function} gathers from {own.world:,} ranks, which have losses of their own, and gives back this "
            "rank's part of its own gradient: what the losses of the other ranks add to that is lost, unless it is "
            "summed first",
            own.returns,
            () if own.gather is None else (Related("cause_at", own.gather, "where it gathers"),),
            operator=own.function,
        )


def _own_part(ranks: Ranks) -> OwnPart | None:
    """The first such Function, where the ranks that are gathered from have losses of their own."""
    there = {one.rank for one in ranks.ranks}
    gathers = (one for one in ranks.collectives if not one.inside and one.operator.startswith(_GATHERS))
    lines = {(one.operator, one.site, one.group.key): one for one in gathers if one.group is not None}
    for one in lines.values():
        members = [] if one.group is None else [number for number in one.group.members if number in there]
        if len(members) > 1:
            with load(Path(ranks.rank(members[0]).path)) as recording:
                found = _cut_first(recording, one, ranks.collectives)
                if found is None and _have_own_losses(ranks, members):
                    with load(Path(ranks.rank(members[1]).path)) as other:
                        found = _found(recording, one, other.node_sizes())
            if found is not None:
                return found
    return None


def _have_own_losses(ranks: Ranks, members: list[int]) -> bool:
    """Whether some ranks differ in their losses: one that all have alike has the whole gradient in each part of it."""
    of_each = {number: dict(losses) for losses, numbers in ranks.losses.items() for number in numbers}
    first, *others = (of_each.get(number, {}) for number in members)
    for other in others:
        both = [(float(first[at]), float(other[at])) for at in first.keys() & other.keys()]
        both = [each for each in both if all(map(math.isfinite, each))]
        if len(both) < _LOSSES or all(math.isclose(*each, rel_tol=_ALIKE) for each in both):
            return False
    return True


def _found(recording: Recording, gather: Collective, theirs: Mapping[int, Mapping[int, float]]) -> OwnPart | None:
    """The first Function that gathers by a line, and whose backward gives a part of what it received, which another
    rank did not receive alike; not where anything is exchanged on a way through it, by which what is lost there may
    come back."""
    ways, world = ways_of(recording), 0 if gather.group is None else len(gather.group.members)
    for number, sizes in sorted(recording.node_sizes().items()):
        graph, ran = recording.graph(number), recording.operators(number)
        meeting = {node for node, name in ran if node is not None and is_collective(name)}
        meeting = {node for node in meeting if not graph.nodes[node].leaf}
        stacks = [one.stack for one in ways.get(number, ()) if (one.name, one.site) == (gather.operator, gather.site)]
        for node in graph.nodes if stacks else ():
            scales = any(at == node.id and base_name(name) in _SCALES for at, name in ran)
            if node.function is None or scales or not _gives_a_part(graph, node, sizes, world):
                continue
            received, other = sizes.get(node.id, math.nan), theirs.get(number, {}).get(node.id, math.nan)
            if math.isclose(received, other, rel_tol=_ALIKE) or not meeting.isdisjoint(_on_ways(graph, node.id)):
                continue
            found = _of(recording, node, stacks)
            if found is not None:
                chosen = _chosen(graph, node, meeting)
                return OwnPart(node.function.bare_name, chosen or found, gather.site, world)
    return None


def _chosen(graph: Graph, node: Node, meeting: set[int]) -> Site | None:
    """Where another use of a Function sums what comes back: the innermost line that only this use came by, or, where
    both came by the same, that which calls what applies it."""
    name = None if node.function is None else node.function.bare_name
    others = (one for one in graph.nodes if one.id in meeting and one.function is not None)
    other = next((one for one in others if one.function is not None and one.function.bare_name == name), None)
    if other is None:
        return None
    own, known = user_frames(node.stack), {str(site) for site in user_frames(other.stack)}
    return next((site for site in own if str(site) not in known), next(iter(own[1:]), None))


def _on_ways(graph: Graph, at: int) -> set[int]:
    """A node, what leads to it, and what it leads to."""
    down, up = defaultdict[int, list[int]](list), defaultdict[int, list[int]](list)
    for edge in graph.edges:
        down[edge.source].append(edge.target)
        up[edge.target].append(edge.source)
    found = {at}
    for following in (down, up):
        waiting = [at]
        while waiting:
            new = [one for one in following[waiting.pop()] if one not in found]
            found.update(new)
            waiting += new
    return found


def _cut_first(recording: Recording, gather: Collective, collectives: list[Collective]) -> OwnPart | None:
    """The first Function that gathers by a line, and whose backward sums, once, a part of what it received."""
    sums = [one for one in collectives if one.inside and one.group == gather.group and one.operator.startswith(_SUMS)]
    if not sums or gather.group is None:
        return None
    ways, world = ways_of(recording), len(gather.group.members)
    for number, sizes in sorted(recording.node_sizes().items()):
        graph, met = (
            recording.graph(number),
            Counter(node for node, name in recording.operators(number) if _meets(name)),
        )
        stacks = [one.stack for one in ways.get(number, ()) if (one.name, one.site) == (gather.operator, gather.site)]
        for node in graph.nodes if stacks else ():
            if node.function is not None and met[node.id] == 1 and _gives_a_part(graph, node, sizes, world):
                site = _sums_at(recording, number, node)
                received = sum(math.prod(one.shape) for one in node.inputs_meta if one is not None)
                given = {math.prod(each.shape) for one in sums if one.site == site for each in one.types}
                if site is not None and given == {received // world} and _of(recording, node, stacks) is not None:
                    return OwnPart(node.function.bare_name, site, gather.site, world, is_summed=True)
    return None


def _meets(name: str) -> bool:
    return is_collective(name) and "wait" not in name


def _sums_at(recording: Recording, backward: int, node: Node) -> Site | None:
    """The line by which a node sums."""
    blocks = (block for block in recording.blocks() if block.backward == backward)
    operations = (one for block in blocks for one in block.operations if one.node == node.id)
    return next((one.site for one in operations if one.name.startswith(_SUMS)), None)


def _gives_a_part(graph: Graph, node: Node, sizes: dict[int, float], world: int) -> bool:
    """Whether a node received as many times more numbers as there are ranks than it gave to one that is above it."""
    received = sum(math.prod(one.shape) for one in node.inputs_meta if one is not None)
    for edge in graph.edges:
        if edge.source == node.id and sizes.get(edge.target, 0.0) > 0.0:
            given = graph.nodes[edge.target].inputs_meta[edge.input_nr : edge.input_nr + 1]
            if any(one is not None and math.prod(one.shape) * world == received for one in given):
                return True
    return False


def _of(recording: Recording, node: Node, stacks: list[Stack]) -> Site | None:
    """The line by which the backward of a node's Function returns, where one of some stacks is below its forward."""
    place = None if node.function is None else node.function.class_site
    if place is None:
        return None
    classes = (one for one in nodes_of(tree_of(recording, place)) if isinstance(one, ast.ClassDef))
    owner = next((one for one in classes if one.lineno <= place.line < one.body[0].lineno), None)
    methods = {one.name: one for one in owner.body if isinstance(one, Function)} if owner is not None else {}
    forward, backward = methods.get("forward"), methods.get("backward")
    if forward is None or backward is None:
        return None
    lines = range(forward.lineno, (forward.end_lineno or 0) + 1)
    if not any(site.file == place.file and site.line in lines for stack in stacks for site in stack):
        return None
    returns = [one.lineno for one in ast.walk(backward) if isinstance(one, ast.Return)]
    return at_line(recording, Site(place.file, place.line, "backward"), max(returns)) if returns else None
