"""GS799: gradients that are equal on all ranks, and are summed over them all the same."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from gradscope.model.averaging import GroupKey
from gradscope.model.finding import Related
from gradscope.model.graph import Graph, Node
from gradscope.model.site import Site, Stack, user_frames
from gradscope.ranks.core.kind import Blame
from gradscope.ranks.core.known import Ranks
from gradscope.ranks.gradients.alike_addends import alike_addend
from gradscope.ranks.gradients.bias_summed import bias_summed
from gradscope.ranks.gradients.doubled import doubled
from gradscope.ranks.gradients.summed_after import summed_after
from gradscope.ranks.gradients.summed_between import summed_between
from gradscope.ranks.gradients.summed_totals import summed_total
from gradscope.ranks.gradients.summed_twice import summed_twice
from gradscope.store.reader import Recording, load

_SUMS = ("c10d.allreduce_", "_c10d_functional.all_reduce")
_EXACT = 1e-6  # relative
_LOOKS = 2
_NODES = 2  # of one Function, one of which leads to the other: the first may undo a division of the loss


@dataclass(frozen=True, slots=True)
class _Sum:
    """A node of a custom Function that summed a gradient: what it received, and how many times as much followed on."""

    node: Node
    received: float
    times: float


def summed_again(ranks: Ranks) -> Iterator[Blame]:
    """What it flags:
        A custom Function whose backward sums gradients over the ranks that all ranks have alike; a running total in a
        buffer, or another tensor that lives from step to step, that all ranks have alike, and that is summed over them
        again whenever they meet; one tensor, or the gradient of one parameter, by two names that is summed by each; a
        bias that each rank adds to its part of a product before the parts are summed, or anything else that all of them
        have alike; a gradient that DistributedDataParallel has averaged, and that the program sums by itself; gradients
        that are summed after each of several backward calls which add to them.
    Why:
        Where all ranks compute the same from a result that was put together, each has the whole gradient of it. To sum
        it once more makes it as many times as large as there are ranks, again in each layer, and no loss and no shape
        shows it. A total that is put back after it was summed holds what all ranks saw, and the next sum counts that
        once for each rank, until it overflows.
    Wrong:
        dist.all_reduce(gradient)  # in the backward of what sums in its forward
        return gradient
    Right:
        return gradient
    Do instead:
        Let the gradient through where the forward sums, and sum it where the forward lets its input through. Sum what a
        rank has seen since the ranks last met, or divide what is put back by their number; gradients, after the last
        backward call of a step. Add a bias after the sum.
        Give each name a tensor of its own by clone(). Go once through the parameters of the whole model.
    How it is found:
        The largest magnitude of the gradients that nodes of custom Functions received and passed on, in the backward
        calls 0, 1, 2, 4, 8, ...: the same on all ranks, whose parameters are not the same, before a sum that made it
        exactly as many times as large as there are ranks, at two nodes of which one leads to the other, in two of these
        calls at least. Silent where gradients are averaged between these ranks. Of buffers: norms that are the same on
        ranks, and that became, each time that the ranks met at one line between looks, as many times as large as there
        are ranks. The line is the one below that which writes the buffer. Of other totals: in the first steps, one and
        the same memory, whole, was summed by one line three times, computed with, and written between by nothing but
        add_() of what was not computed of it; the line is that of the sum. Of tensors: one that was computed in the
        first steps, or a leaf's gradient, whole, whose memory is summed in one group twice, before anything reads or
        writes it, and then is read before it was scaled as often; the line is that of the second sum, or by which a
        helper that sums is given a list. Of biases, as a hint, since training learns a smaller one: at each look the
        ranks have one bias and two weights, and what the first steps summed is their product and its bias; of plain
        tensors, the source takes the weight by the number of the rank, and the bias not. Of anything else, as a hint,
        where ranks have one loss and average no gradient: what is a leaf with one norm on all ranks at each look, or
        was computed from such leaves and sums over the ranks, and not from a part of data, nor scaled, nor selected; it
        is added to what was computed from leaves with other norms at each look, by one line on all ranks, and the sum
        is read as it is. Of gradients that were averaged, as a hint: each was summed in the wrapper's own group after
        two backward calls or more of a mean loss, in which the wrapper had reduced, by a program whose SGD steps by
        them, that scales nothing on the way, nor by the number of ranks but by operators. Of gradients of several
        backward calls: one was summed, or a copy that was put back, or by a hook in its leaf's node, a backward call
        added to that memory, and it is summed again before a weight is written, and was scaled, cleared or filled
        nowhere between; of hooks not where a program has something called once a sum is done.
    """
    at_once = _twice(ranks) or _added(ranks) or _again(ranks) or _after(ranks) or _kept_on(ranks) or _between(ranks)
    if at_once is not None:
        yield at_once
        return
    there = {one.rank for one in ranks.ranks}
    inside = [one for one in ranks.collectives if one.inside and one.operator.startswith(_SUMS)]
    for key in dict.fromkeys(one.group.key for one in inside if one.group is not None):
        members = [number for number in key[1] if number in there]
        if len(members) > 1 and _differ(ranks, *members[:2]) and not _averages(ranks, key):
            found = _found(ranks, members[:2], len(key[1]))
            if found is not None:
                yield found
                return


def _twice(ranks: Ranks) -> Blame | None:
    twice = summed_twice(ranks)
    if twice is None:
        return None
    if twice.leaf is not None:
        first = Related("cause_at", twice.made, "where it is summed first")
        return Blame(
            f"the gradient of {twice.leaf} is summed over the ranks twice before it is read, as the parameter is come "
            "to by two names: each sum but the first makes it as many times as large as there are ranks",
            twice.summed,
            (first,) if twice.made != twice.summed else (),
            certain=False,
            tensor=twice.leaf,
        )
    return Blame(
        f"what line {twice.made.line} makes is summed over the ranks twice before it is read, as two names are "
        "given to one tensor: each sum but the first makes it as many times as large as there are ranks",
        twice.summed,
        (Related("cause_at", twice.made, "where it is made"),),
        certain=False,
    )


def _added(ranks: Ranks) -> Blame | None:
    added = bias_summed(ranks)
    if added is None:
        return _added_alike(ranks)
    return Blame(
        f"each rank adds {added.bias}, which all of them have alike, to its part of a product with {added.weight}, "
        "and the parts are summed: it counts once for each rank",
        added.site,
        (Related("cause_at", added.summed, "where the parts are summed"),),
        tensor=added.bias,
        meant=True,
    )


def _added_alike(ranks: Ranks) -> Blame | None:
    addend = alike_addend(ranks)
    if addend is None:
        return None
    what = f"{addend.leaf}, which" if addend.leaf is not None else "to its part of a result what"
    where = "" if addend.leaf is None else ", to its part of a result"
    return Blame(
        f"each rank adds {what} all of them have alike{where}, and the parts are summed: it counts once for each rank",
        addend.site,
        (Related("cause_at", addend.summed, "where the parts are summed"),),
        tensor=addend.leaf,
        meant=True,
    )


def _after(ranks: Ranks) -> Blame | None:
    after = summed_after(ranks)
    if after is None:
        return None
    return Blame(
        f"DistributedDataParallel has averaged the gradient of {after.leaf} over {after.world:,} ranks, and it is "
        f"summed over them once more, which makes it {after.world:,} times as large",
        after.site,
        () if after.wrapped is None else (Related("cause_at", after.wrapped, "where the wrapper was made"),),
        tensor=after.leaf,
        meant=True,  # the sum over all may be what a learning rate was chosen for
    )


def _again(ranks: Ranks) -> Blame | None:
    total = doubled(ranks)
    if total is None:
        return None
    return Blame(
        f"the buffer {total.buffer}, which ranks have alike, is summed over them and put back: it becomes "
        f"{total.times:,} times as large whenever they meet",
        total.writes,
        (Related("cause_at", total.summed, "where it is summed"),),
        certain=False,
        tensor=total.buffer,
    )


def _kept_on(ranks: Ranks) -> Blame | None:
    total = summed_total(ranks)
    if total is None:
        return None
    return Blame(
        f"the total that line {total.added.line} adds to is summed over the ranks, and once more at each step with "
        "what all of them have in it already: its past becomes as many times as large as there are ranks",
        total.summed,
        (Related("cause_at", total.added, "where a rank adds to what was summed"),),
        certain=False,
    )


def _between(ranks: Ranks) -> Blame | None:
    between = summed_between(ranks)
    if between is None:
        return None
    return Blame(
        "gradients are summed over the ranks between the backward calls of a step: the later ones add to what was "
        "summed, and what came first counts once more for each rank at each sum",
        between.site,
        (Related("cause_at", between.summed, "where they are summed"),) if between.summed != between.site else (),
        certain=False,
    )


def _differ(ranks: Ranks, one: int, other: int) -> bool:
    """Whether two ranks have parameters of their own: copies that see the same data may be summed over."""
    first = min(ranks.weights.ranks, default=None)
    alike = [] if first is None else ranks.weights.ranks[first].values()
    return bool(alike) and not any({one, other} <= set(members) for members in alike)


def _averages(ranks: Ranks, key: GroupKey) -> bool:
    """Whether gradients are averaged between these ranks."""
    told = [ranks.averaging[number] for number in key[1] if number in ranks.averaging]
    return any(key in one.groups or key in {each.group for each in one.by_hand} for one in told)


def _found(ranks: Ranks, members: list[int], world: int) -> Blame | None:
    """What the first Function with two nodes that sum again does, by two members of a group of so many ranks."""
    with ExitStack() as files:
        recordings = [files.enter_context(load(Path(ranks.rank(number).path))) for number in members]
        found = [_of(recording, world) for recording in recordings]
        for name in sorted({name for one in found[0].values() for name in one}):
            looks = [number for number in found[0] if _is_twice(recordings[0], number, name, found)]
            if len(looks) >= _LOOKS:
                first = found[0][looks[0]][name][0]
                return Blame(
                    f"the backward of {name} sums a gradient over {world:,} ranks that all of them have alike already, "
                    f"and makes it {first.times:.0f} times as large, again in each of its nodes",
                    _site(recordings[0], looks[0], first.node),
                    certain=False,
                    backward=looks[0],
                    operator=first.node.short_name,
                )
    return None


def _of(recording: Recording, world: int) -> dict[int, dict[str, list[_Sum]]]:
    """By look and Function: its nodes that made a gradient as many times as large as there are ranks."""
    found: dict[int, dict[str, list[_Sum]]] = {}
    for number, sizes in sorted(recording.node_sizes().items()):
        summing = {node for node, name in recording.operators(number) if name.startswith(_SUMS)}
        graph = recording.graph(number)
        by_name: dict[str, list[_Sum]] = defaultdict(list)
        for one in _sums(graph, sizes, summing):
            if one.node.function is not None and math.isclose(one.times, world, rel_tol=_EXACT):
                by_name[one.node.function.bare_name].append(one)
        found[number] = by_name
    return found


def _sums(graph: Graph, sizes: dict[int, float], summing: set[int | None]) -> Iterator[_Sum]:
    for edge in graph.edges:
        received, passed = sizes.get(edge.source), sizes.get(edge.target)
        if edge.source in summing and edge.output == 0 and received and passed and math.isfinite(passed):
            yield _Sum(graph.nodes[edge.source], received, passed / received)


def _is_twice(recording: Recording, look: int, name: str, found: list[dict[int, dict[str, list[_Sum]]]]) -> bool:
    """Whether two nodes of a Function, one above the other, received the same on both ranks at a look."""
    ours, theirs = (one.get(look, {}).get(name, []) for one in found)
    received = {one.node.id: one.received for one in theirs}
    alike = [one.node.id for one in ours if received.get(one.node.id) == one.received]
    if len(alike) < _NODES:
        return False
    graph, ends = recording.graph(look), (alike[0], alike[-1])
    return _leads(graph, *ends) or _leads(graph, *ends[::-1])


def _leads(graph: Graph, start: int, end: int) -> bool:
    """Whether a gradient goes from one node to another."""
    following: dict[int, list[int]] = defaultdict(list)
    for edge in graph.edges:
        following[edge.source].append(edge.target)
    waiting, seen = [start], {start}
    while waiting:
        for one in following[waiting.pop()]:
            if one not in seen:
                seen.add(one)
                waiting.append(one)
    return end in seen


def _site(recording: Recording, backward: int, node: Node) -> Site | None:
    """The line of the Function's backward that sums, or calls what does, as others may call it too; else that which
    called the Function."""
    calls = {call.number: call.site for call in recording.backwards()}
    for block in recording.blocks():
        if block.backward == backward:
            for one in block.operations:
                if one.node == node.id and one.name.startswith(_SUMS):
                    inside = _in_backward(node, one.stack)
                    site = one.site if inside is None else inside
                    return node.site if site is None or site == calls.get(backward) else site
    return node.site


def _in_backward(node: Node, stack: Stack) -> Site | None:
    """The frame of a Function's own backward."""
    begins = None if node.function is None else node.function.backward_site
    if begins is None:
        return None
    name = begins.function.rpartition(".")[2]
    frames = [site for site in user_frames(stack) if (site.file, site.function) == (begins.file, name)]
    return next((site for site in frames if site.line >= begins.line), None)
