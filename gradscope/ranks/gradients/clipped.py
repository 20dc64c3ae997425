"""GS784: gradients of parts of parameters that each rank clips by the norm of its own."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator
from pathlib import Path

from gradscope.functions.source import called_name
from gradscope.model.finding import Related
from gradscope.model.rank import Collective
from gradscope.model.site import Site, Stack, user_site
from gradscope.model.training import CLIP
from gradscope.ranks.core.kind import Blame
from gradscope.ranks.core.known import Ranks
from gradscope.ranks.gradients.clipped_cuts import GATHERS, clipped_cuts
from gradscope.ranks.gradients.clipped_owned import clipped_owned
from gradscope.ranks.gradients.clipped_shards import clipped_shards
from gradscope.ranks.gradients.clipped_whole import clipped_whole
from gradscope.ranks.gradients.merged_norms import merged_norms
from gradscope.ranks.gradients.met_alone import met_alone
from gradscope.ranks.gradients.shard_norms import Scaled, scaled_shards
from gradscope.ranks.source.deciding import origin
from gradscope.ranks.source.given import frames_of
from gradscope.store.reader import Recording, load

_CLIPS = "clip_grad_norm_"
_GIVEN = "parameters"
_LOCAL = frozenset(("to_local", "_local_tensor"))
_INTO_ONE = ("c10d._reduce_scatter_base_", "_c10d_functional.reduce_scatter")  # tensor, of which each rank has a part
_SCATTERS = ("c10d._reduce_scatter_base_", "c10d.reduce_scatter_", "_c10d_functional.reduce_scatter")


def clipped_apart(ranks: Ranks) -> Iterator[Blame]:
    """What it flags:
        Gradients of each rank's parts of parameters, or of the parameters that a rank owns, that are clipped by the
        norm of these alone, or by the greatest, the sum or the mean of the ranks' norms.
    Why:
        clip_grad_norm_() knows the norm of all parts only of parameters that are DTensors. Of the local tensors inside
        it computes another norm on each rank, so that each scales its part of one gradient by another number: what the
        optimizer is given is no multiple of the gradient.
    Wrong:
        parts = [parameter.to_local() for parameter in model.parameters()]
        clip_grad_norm_(parts, 1.0)
    Right:
        clip_grad_norm_(model.parameters(), 1.0)
    Do instead:
        Clip the parameters themselves, or sum the squares of the norms over the ranks and give the root of that to
        clip_grads_with_norm_().
    How it is found:
        Where each parameter is held by the optimizer of one rank, and all gradients are reduced: norms of what a rank
        owns that are gathered or reduced as they are, and of which the greatest, a sum or a mean is what it scales all
        of that by; not where a norm of another order than two may be taken. The line is that which puts them together.
        A call of clip_grad_norm_() with a finite bound, inside of which nothing is exchanged, where gradients are
        scattered in backward calls, and what it is given goes back to to_local() in the source. Or one that takes the
        norm of nothing but this rank's part of what its group has summed or scattered after a backward call, as large
        as each of them has, where the group puts together parts of that size after it and before the next backward. Or
        a norm, or a sum of squares, of several parts that a backward call scattered, by which they are scaled in place,
        when no collective had anything of it; the line is that which takes it. So is that of all parts that the program
        itself scatters between a backward call and the next, where they are as large together as the parameters and
        what has the size of one is put together after that. And one of this rank's part of each sum that the program
        cuts a part of, the others' parts left alone: by itself, or when ranks have summed or gathered norms and made of
        them what is no root of the sum of their squares; a factor that follows from it scales what is made of these
        parts, and what comes of them, as large as one, is put together before the next backward call. A hint: ranks
        with weights of their own, which receive from each other what they compute, and one of which sums a norm of its
        gradients over a group of itself alone, and scales gradients by what follows from that.
    """
    yield from _owned(ranks)
    yield from merged_norms(ranks)
    yield from _alone(ranks)
    scatters = any(map(_scatters, ranks.collectives))
    if not scatters and not any(map(_gathers, ranks.collectives)):
        return
    exchanging = {str(one.site) for one in ranks.collectives}
    with load(Path(ranks.ranks[0].path)) as recording:
        local = _local_norms(recording) if scatters else iter(())
        found = next((each for each in local if str(each[0]) not in exchanging), None)
        clips = {str(user_site(stack)) for stack in _clips(recording)} - exchanging
        found = found or (clipped_cuts(recording, clips) if clips else None)
        by_hand = None if found is not None else _by_hand(ranks, recording) or clipped_whole(recording)
        scaled = None if found is not None or by_hand is not None else scaled_shards(recording)
    if scaled is not None:
        yield _scaled(scaled)
    if by_hand is not None:
        yield _scaled(Scaled(*by_hand, is_merged=False))
    if found is not None:
        yield Blame(
            "each rank clips its parts of the gradients by the norm of these parts, and so by another number than the "
            "others",
            found[0],
            (Related("cause_at", found[1], "where it takes its parts"),),
            certain=False,
        )


def _scaled(found: Scaled) -> Blame:
    """What a rank scales by a norm that is not that of all."""
    alone = (
        "each rank scales its parts of the gradients by a norm of these parts, in which no other rank has a part, "
        "and so by another number than the others"
    )
    merged = (
        "ranks put the norms of their parts of the gradients together otherwise than by the root of the sum of their "
        "squares, and scale these parts by that: it is not the norm of all"
    )
    where = Related("cause_at", found.scales, "where it scales its parts")
    return Blame(merged if found.is_merged else alone, found.norm, (where,), certain=False)


def _alone(ranks: Ranks) -> Iterator[Blame]:
    """What a stage scales by a norm that it asks a group for in which it is alone: a hint, since stages may be clipped
    apart on purpose."""
    found = met_alone(ranks)
    if found is not None:
        yield Blame(
            "this sums a norm over a group that has this rank alone, and gradients are scaled by what follows: where "
            "the norm of the whole model is meant, what other ranks have is missing in it",
            found[0],
            (Related("cause_at", found[1], "where it scales gradients"),),
            certain=False,
            meant=True,
        )


def _owned(ranks: Ranks) -> Iterator[Blame]:
    """What ranks clip of which each owns some of the parameters."""
    found = clipped_owned(ranks)
    if found is not None:
        yield Blame(
            "each rank scales the gradients of the parameters that it owns by a norm of these alone, and so by another "
            "number than the others scale theirs",
            found[0],
            (Related("cause_at", found[1], "where it scales them"),),
            certain=False,
        )


def _by_hand(ranks: Ranks, recording: Recording) -> tuple[Site, Site] | None:
    """The line that takes a norm of nothing but a rank's parts, and that which scales them by it."""
    scattered = [one for one in ranks.collectives if _scatters(one) and one.operator.startswith(_INTO_ONE)]
    parts = ((math.prod(each.shape), len(one.group.members)) for one in scattered if one.group for each in one.types)
    sizes = {size // world for size, world in parts if size % world == 0}
    return clipped_shards(recording, sizes) if sizes else None


def _scatters(one: Collective) -> bool:
    """Whether gradients are parted between several ranks."""
    several = one.group is not None and len(one.group.members) > 1
    return one.inside and several and one.operator.startswith(_SCATTERS)


def _gathers(one: Collective) -> bool:
    """Whether parts of several ranks are put together."""
    several = one.group is not None and len(one.group.members) > 1
    return several and not one.inside and one.operator.startswith(GATHERS)


def _clips(recording: Recording) -> set[Stack]:
    """The stacks under which gradients were clipped by a finite bound."""
    calls = (call for interval in recording.intervals() for call in interval.calls)
    return {call.stack for call in calls if call.kind is CLIP and call.count}


def _local_norms(recording: Recording) -> Iterator[tuple[Site, Site]]:
    """The lines that clip what goes back to local tensors, and where these are taken."""
    for stack in sorted(_clips(recording), key=lambda one: str(user_site(one))):
        frames, site = frames_of(recording, stack), user_site(stack)
        if site is None or not frames:
            continue
        for node in ast.walk(frames[0].function):
            if isinstance(node, ast.Call) and called_name(node) == _CLIPS and _is_at(node, site.line):
                given = node.args[0] if node.args else next((k.value for k in node.keywords if k.arg == _GIVEN), None)
                local = None if given is None else origin(recording, frames, given, _is_local)
                if local is not None:
                    yield site, local


def _is_at(node: ast.Call, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or 0)


def _is_local(value: ast.expr) -> bool:
    return any(isinstance(node, ast.Attribute) and node.attr in _LOCAL for node in ast.walk(value))
