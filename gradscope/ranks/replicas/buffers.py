"""GS797: buffers of copies of one model that nobody keeps equal."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from gradscope.model.finding import Related
from gradscope.model.site import Site
from gradscope.ranks.core.copies import (
    Apart,
    Replicas,
    apart_words,
    first_apart,
    looks_of,
    replicas_of,
    trained_alike,
    values_at,
)
from gradscope.ranks.core.keys import unwrapped
from gradscope.ranks.core.kind import Blame
from gradscope.ranks.core.known import Looks, Ranks
from gradscope.ranks.replicas.drawn import drawn
from gradscope.ranks.replicas.kept_buffers import parted
from gradscope.ranks.replicas.overwritten import overwritten
from gradscope.ranks.replicas.own_statistics import own_statistics
from gradscope.ranks.replicas.plain_statistics import plain_statistics
from gradscope.ranks.source.buffer_writes import written_with
from gradscope.ranks.source.parting_writes import parted_at
from gradscope.ranks.source.sent_buffers import sends_buffers
from gradscope.store.reader import load


def drifted(ranks: Ranks) -> Iterator[Blame]:
    """What it flags:
        Buffers that each rank changes by itself, or draws at random, in a model under DistributedDataParallel, which
        was told not to broadcast them: broadcast_buffers=False, forward_sync_buffers=False; a buffer that ranks without
        a wrapper keep equal by what they exchange, until each puts in what it has by itself; running statistics in
        buffers by which each of such ranks normalises its samples, and that it makes of these alone; as a hint, running
        statistics in plain tensors, or in buffers without a wrapper, by which each rank scales samples or its loss, or
        a codebook, and a buffer that is broadcast, as a queue of keys, into which each rank puts what it has computed.
    Why:
        Running statistics and other buffers are part of the model: in eval() each rank then computes something else,
        and a checkpoint has the buffers of the rank that saves it, which saw a part of the data.
        Where they are broadcast, what all ranks but the first put in is lost.
    Wrong:
        model = DistributedDataParallel(net, broadcast_buffers=False)
    Right:
        net = torch.nn.SyncBatchNorm.convert_sync_batchnorm(net)
        model = DistributedDataParallel(net, broadcast_buffers=False)
    Do instead:
        Compute what goes into the buffer from the batches of all ranks (SyncBatchNorm, an all_reduce, an all_gather),
        draw it from one seed, leave the broadcast on, or register what is each rank's own with persistent=False.
    How it is found:
        The norms of buffers of a state_dict() at the backward calls 0, 1, 2, 4, 8, ...: not the same on all ranks, and
        changed since the first look, where the wrapper was told not to broadcast them. Where the program's own lines
        write such a buffer, the line is that which computes over samples what is first written, else the write; or that
        which parts it, as below, where it was the same at a look before. Of a module of torch's the line is that of the
        wrapper. A buffer that stays as it was is told where the one line that registers it puts torch's random numbers
        into it, drawn without a generator. Of ranks that average by hand: a buffer that is not the same on all ranks at
        a look and all after it, and was at all before, at two of which it was another than at the first, where all
        weights are the same, and a line of the program's writes it from what a collective gave. The line is the last
        that writes it between the looks, did not before, and is given nothing that the ranks exchange, or that which
        gives another name to what is put in. Of running statistics: weights are the same on all ranks and the buffers
        on none at any look, and in two of the first steps at least a line writes them, samples without a gradient, from
        which a tensor made of them was taken, are divided by another, and a layer reads that; nothing that is sent is
        made of them or goes into them, nor is more sent in a later step. Of buffers that are broadcast: in most
        forwards of the first steps, on two ranks whose losses and norms of the buffer are not the same, something read
        the buffer and then one line put numbers into a part of it, computed of what was made in that step, and not of
        the buffer or of what a collective gave; nothing else writes it. The line is that one. Of plain tensors: in two
        of the first steps at least, one that no model holds is made of its last value, number by number and without a
        gradient, and of what was computed over samples, by this line; a loss, or samples that have no gradient, are
        scaled by what is made of it, or looked up in it; nothing of it is sent, all weights are the same on two ranks
        and its norms are not. Without a wrapper it may be a buffer that this line names. Such statistics are a hint: a
        site's may be its own on purpose. Silent where a function that is given a buffer, or speaks
        of buffers, meets others later, as by an average before each evaluation.
    """
    alike = list(trained_alike(ranks))
    for way in (_without_a_wrapper, _by_plain_tensors):
        yield from islice(filter(None, (way(ranks, each) for each in alike)), 1)
    for replicas in (each for each in replicas_of(ranks) if ranks.averaging[each.members[0]].is_wrapped):
        looks = looks_of(ranks.buffers, replicas)
        changing = _changing(ranks.buffers, looks)
        found = first_apart(ranks.buffers, replicas, looks, changing.__contains__)
        if found is not None:
            if _is_sent(ranks, found):
                return
            yield _left_alone(ranks, found, _written(ranks, found, changing, looks))
            return
        alone = _drawn(ranks, replicas, looks, changing) or _lost(ranks, replicas)
        if alone is not None:
            yield alone
            return


def _left_alone(ranks: Ranks, found: Apart, writes: Site | None) -> Blame:
    """A buffer that each rank changes by itself, as the wrapper was told not to broadcast it."""
    wrapped = ranks.averaging[found.members[0]].wrapped
    return Blame(
        f"the buffer {unwrapped(found.leaf)} is not the same on all ranks from backward {found.backward} on "
        f"({apart_words(found)}), and DistributedDataParallel was told not to broadcast it",
        writes or wrapped,
        () if writes is None else (Related("cause_at", wrapped, "where the wrapper was made"),),
        certain=False,
        backward=found.backward,
        tensor=found.leaf,
    )


def _is_sent(ranks: Ranks, found: Apart) -> bool:
    """Whether the program exchanges buffers itself, as it may do before each evaluation."""
    with load(Path(ranks.rank(found.odd[0]).path)) as recording:
        return sends_buffers(recording, [found.leaf])


def _without_a_wrapper(ranks: Ranks, replicas: Replicas) -> Blame | None:
    """A buffer of ranks that average by hand, which parts or has never been the same."""
    return _parted(ranks, replicas) or _normalises(ranks, replicas)


def _parted(ranks: Ranks, replicas: Replicas) -> Blame | None:
    """A buffer that ranks without a wrapper kept equal by what they exchanged."""
    told = None if ranks.averaging[replicas.members[0]].is_wrapped else parted(ranks, replicas)
    if told is None:
        return None
    found, site = told
    return Blame(
        f"the buffer {unwrapped(found.leaf)} was kept the same on all ranks by what they exchange, and is not any more "
        f"from backward {found.backward} on ({apart_words(found)}): each puts in what it has by itself",
        site,
        certain=False,
        backward=found.backward,
        tensor=found.leaf,
    )


def _normalises(ranks: Ranks, replicas: Replicas) -> Blame | None:
    """A buffer that ranks without a wrapper normalise their samples by, and never exchange."""
    told = None if ranks.averaging[replicas.members[0]].is_wrapped else own_statistics(ranks, replicas)
    if told is None:
        return None
    return Blame(
        f"each rank normalises its samples by {unwrapped(told.found.leaf)}, which it makes of these alone "
        f"({apart_words(told.found)}): the weights are the same on all ranks, and the model is another on each",
        told.site,
        (Related("cause_at", told.divides, "where samples are normalised by it"),),
        certain=False,
        backward=told.found.backward,
        tensor=told.found.leaf,
        meant=True,  # a site's own statistics may be its own on purpose
    )


def _by_plain_tensors(ranks: Ranks, replicas: Replicas) -> Blame | None:
    """Running statistics in plain tensors, which no wrapper sends."""
    told = plain_statistics(ranks, replicas)
    if told is None:
        return None
    return Blame(
        f"each rank computes by running statistics which it makes of its own samples alone (norms "
        f"{told.norms[0]:.6g}, {told.norms[1]:.6g} at backward {told.backward}): the weights are the same on all "
        "ranks, and what they are trained for is another on each",
        told.site,
        (Related("cause_at", told.uses, "where it computes by them"),),
        certain=False,
        backward=told.backward,
        tensor=told.buffer,
        meant=True,  # statistics of a rank's own may be so on purpose
    )


def _drawn(ranks: Ranks, replicas: Replicas, looks: list[int], changing: set[str]) -> Blame | None:
    """A buffer that each rank drew for itself, and that stays so."""
    if not looks:
        return None
    first = replicas.members[0]
    with load(Path(ranks.rank(first).path)) as recording:
        registered = drawn(recording, values_at(ranks.buffers, looks[:1]).keys() - changing)
    found = first_apart(ranks.buffers, replicas, looks[:1], registered.__contains__)
    if found is None:
        return None
    return Blame(
        f"the buffer {unwrapped(found.leaf)} is drawn at random on each rank, and is not the same on all of them "
        f"({apart_words(found)}), as DistributedDataParallel was told not to broadcast it",
        registered[found.leaf],
        (Related("cause_at", ranks.averaging[first].wrapped, "where the wrapper was made"),),
        certain=False,
        backward=found.backward,
        tensor=found.leaf,
    )


def _lost(ranks: Ranks, replicas: Replicas) -> Blame | None:
    """A buffer that the wrapper broadcasts, and into which each rank puts its own."""
    found = overwritten(ranks, replicas)
    if found is None:
        return None
    return Blame(
        f"each rank puts what it computes of its own samples into the buffer {found.buffer}, and "
        "DistributedDataParallel puts that of rank 0 in its place before the next forward: what the others put in is "
        "lost",
        found.site,
        (Related("cause_at", ranks.averaging[replicas.members[0]].wrapped, "where the wrapper was made"),),
        certain=False,
        tensor=found.buffer,
        meant=True,  # what one rank has seen may do
    )


def _written(ranks: Ranks, found: Apart, changing: set[str], looks: list[int]) -> Site | None:
    """The line of the program's own that parts a buffer which other lines keep equal; else that which changes one."""
    before = [look for look in looks if look < found.backward]
    with load(Path(ranks.rank(found.odd[0]).path)) as recording:
        site = parted_at(recording, found.leaf, (before[-1], found.backward)) if before else None
        return site or written_with(recording, changing) or written_with(recording, changing, anywhere=True)


def _changing(measured: Looks, looks: list[int]) -> set[str]:
    """The buffers that are not at the last look what they were at the first: a rank's own constants are none."""
    first, last = values_at(measured, looks[:1]), values_at(measured, looks[-1:])
    return {name for name, norms in last.items() if first.get(name) != norms}
