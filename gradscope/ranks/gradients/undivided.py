"""GS765: gradients of mean losses that a program sums over the ranks, itself or by a hook, and divides nowhere."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from gradscope.model.graph import Graph
from gradscope.ranks.core.copies import Replicas, replicas_of
from gradscope.ranks.core.kind import Blame
from gradscope.ranks.core.known import Ranks
from gradscope.ranks.gradients.hook_sums import summed_by_a_hook, summed_by_one_way
from gradscope.ranks.gradients.mean_losses import (
    PROPORTIONAL,
    have_own_losses,
    is_known_in_source,
    leads_to_a_mean,
    scales_gradients,
)
from gradscope.ranks.gradients.reduced import is_hooked
from gradscope.store.reader import Recording, load

_LOOKS = 2


def undivided(ranks: Ranks) -> Iterator[Blame]:
    """What it flags:
        Gradients of losses that are means, which the program sums over the ranks and divides nowhere by their number,
        by itself or in a communication hook of DistributedDataParallel.
    Why:
        The mean over all samples is the mean of the ranks' means, not their sum. With n ranks each step is n times as
        large as that of one process with the same learning rate: what trained well on one diverges on many.
    Wrong:
        dist.all_reduce(parameter.grad)
    Right:
        dist.all_reduce(parameter.grad)
        parameter.grad /= dist.get_world_size()
    Do instead:
        Divide the sum by the number of ranks, or the loss before its backward, or divide a sum of losses by the number
        of samples of all ranks; or leave it to DistributedDataParallel. What its communication hook sums, that hook
        has to divide.
    How it is found:
        A hint: the learning rate may be chosen for it. The gradients of all leaves of each recorded backward were
        summed in one group, by the program, and an SGD that has them stepped. From the loss additions alone lead to a
        mean, or to a loss of torch's that takes one; the ranks have losses of their own. Nothing scales anything by an
        operator between a backward and the step, nor in a hook; the source divides and multiplies nothing by what is
        called as the number of ranks is, except for what operators compute elsewhere, and names no other reduction.
        So is a communication hook of DistributedDataParallel in which one line sums, by default or by SUM, and that
        is all that meets others in a backward: the hook and the functions that it names multiply and divide nothing
        but the sizes of messages, and the source nothing by a name that was given the number of ranks. A hook of two
        ways is told by the one in which nothing divides, where an operator of the hook's was seen to in all other
        backward calls, and it scales on no line but these.
    """
    for replicas in replicas_of(ranks):
        if replicas.leaves is None:
            yield from _by_a_hook(ranks, replicas)
            continue
        if not have_own_losses(ranks, replicas):
            continue
        told = ranks.averaging[replicas.members[0]]
        site = next((one.site for one in told.by_hand if one.group == replicas.group and one.site is not None), None)
        if site is None or told.groups or len(replicas.members) < len(ranks.ranks):
            continue
        with load(Path(ranks.rank(replicas.members[0]).path)) as recording:
            found = _is_undivided(recording, replicas.leaves) and not is_known_in_source(recording)
        if found:
            world = len(replicas.members)
            yield Blame(
                f"gradients of mean losses are summed over {world:,} ranks, and nothing divides them: each step is "
                f"{world:,} times as large as that of the mean over all samples",
                site,
                certain=False,
            )
            return


def _by_a_hook(ranks: Ranks, replicas: Replicas) -> Iterator[Blame]:
    with load(Path(ranks.rank(replicas.members[0]).path)) as recording:
        is_one = is_hooked(recording)
        site = summed_by_a_hook(ranks, replicas, recording) if is_one else None
        in_part = summed_by_one_way(ranks, replicas, recording) if is_one and site is None else None
    world = len(replicas.members)
    if in_part is not None:
        yield Blame(
            f"a communication hook sums gradients over {world:,} ranks on this line, and nothing divides them, as it "
            f"does where it takes another way: each step is {world:,} times as large as there",
            in_part,
            certain=False,
        )
    if site is not None:
        yield Blame(
            f"a communication hook sums gradients of mean losses over {world:,} ranks, and nothing divides them: "
            f"DistributedDataParallel leaves that to it, and each step is {world:,} times as large",
            site,
            certain=False,
        )


def _is_undivided(recording: Recording, leaves: frozenset[str]) -> bool:
    """Whether mean losses gave the gradients of these leaves alone, SGD steps by them, and nothing scaled any."""
    looks = recording.optimizer_looks()
    if not looks or any(look.name != PROPORTIONAL for look in looks):
        return False
    calls = [call for call in recording.backwards() if call.number in recording.graph_sizes()]
    first = calls[:_LOOKS]
    return (
        len(first) == _LOOKS
        and all(call.nested_in is None and not call.create_graph for call in calls)
        and all(_is_a_mean(recording.graph(call.number), leaves) for call in first)
        and not scales_gradients(recording, calls)
    )


def _is_a_mean(graph: Graph, leaves: frozenset[str]) -> bool:
    """Whether additions alone lead from the loss to a mean, and all leaves are known to be summed."""
    return {node.leaf for node in graph.nodes if node.leaf} <= leaves and leads_to_a_mean(graph, graph.roots[:1])
