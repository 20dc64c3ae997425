"""GS792, GS795 and GS796: copies of one model that start apart, drift apart, or whose gradients nobody averages."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from gradscope.model.averaging import Averaging, GroupKey
from gradscope.model.finding import Related
from gradscope.model.rank import Weights
from gradscope.model.site import Site
from gradscope.ranks.keys import unwrapped
from gradscope.ranks.kind import Blame
from gradscope.ranks.known import Ranks
from gradscope.ranks.stopped import named

_NOISE = 1e-6  # relative: sums on several devices differ in their last bits
_INSIDE = "module"  # the attribute in which DistributedDataParallel has what it wraps


@dataclass(frozen=True, slots=True)
class _Replicas:
    """Ranks whose gradients are meant to be averaged; `leaves`: of these, None for those that the wrapper cares for."""

    members: tuple[int, ...]
    leaves: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class _Apart:
    """The first parameter whose norm is not the same on all ranks, at a look."""

    backward: int
    leaf: str
    norms: tuple[str, ...]
    odd: list[int]
    members: tuple[int, ...]


def start_apart(ranks: Ranks) -> Iterator[Blame]:
    """What it flags:
        Replicas whose gradients are averaged, and whose parameters are not equal when the first step begins.
    Why:
        Averaged gradients keep equal copies equal. Copies that start apart stay apart: each is pushed by gradients that
        were computed for others, and what is saved is one of them.
    Wrong:
        torch.manual_seed(rank)
        model = Model()
        ...
        dist.all_reduce(parameter.grad)
    Right:
        model = Model()
        for parameter in model.parameters():
            dist.broadcast(parameter.data, src=0)
    Do instead:
        Broadcast the parameters of one rank before the first step, or let DistributedDataParallel do it; load
        checkpoints on every rank, or before the wrap.
    How it is found:
        The norms of the parameters at the first look, on ranks where DistributedDataParallel averages their gradients,
        or the program itself reduces the .grad of that very parameter.
    """
    for replicas in _replicas(ranks):
        found = _at(ranks, replicas, _looks(ranks, replicas)[:1])
        if found is not None:
            averaging = ranks.averaging[found.members[0]]
            by_hand = (one.site for one in averaging.by_hand if one.leaf == found.leaf)
            yield Blame(
                f"{unwrapped(found.leaf)} is not the same on all ranks before the first step ({_words(found)}), "
                "though its gradient is averaged",
                averaging.wrapped or next(by_hand, None),
                certain=False,
                backward=found.backward,
                tensor=found.leaf,
            )
            return


def drifted(ranks: Ranks) -> Iterator[Blame]:
    """What it flags:
        Replicas of one model whose parameters were equal at the first backward and are not any more.
    Why:
        Data-parallel training keeps one model in many copies only as long as every copy makes the same steps. Other
        learning rates, a step that one rank leaves out, weights that are written on one rank: each rank then trains a
        model of its own, and only rank 0's is saved.
    Wrong:
        optimizer = SGD(model.parameters(), lr=0.1 * (rank + 1))
    Right:
        optimizer = SGD(model.parameters(), lr=0.1)
    Do instead:
        Let every rank make the same steps with the same settings.
    How it is found:
        The norms of all parameters, measured at the backward calls 0, 1, 2, 4, 8, ...: of those whose gradients are
        averaged, equal on all ranks at the first look, different at a later one by more than rounding explains.
    """
    found = _drift(ranks)
    if found is not None:
        yield Blame(
            f"{unwrapped(found.leaf)} is not the same on all ranks before backward {found.backward} "
            f"({_words(found)}); at the first backward it was equal",
            None,
            certain=False,
            backward=found.backward,
            tensor=found.leaf,
        )


def not_averaged(ranks: Ranks) -> Iterator[Blame]:
    """What it flags:
        Parameters of a model in DistributedDataParallel whose gradients nobody averages, so that copies drift apart.
    Why:
        The wrapper averages what was computed through it: not when the module inside it is called, not in no_sync(),
        and not for parameters that required no gradient when it was made. Nothing fails; each rank trains a model
        of its own, and only rank 0's is saved.
    Wrong:
        loss = model.module(x).sum()
    Right:
        loss = model(x).sum()
    Do instead:
        Call the wrapper itself, leave no_sync() before the last backward of a step, and wrap after freezing and
        unfreezing.
    How it is found:
        Replicas that drift apart, where no collective ran in any backward, where no_sync() was entered for a backward
        that a step followed, or where the parameter that drifts has no hook of the wrapper's. The line is that of the
        call that went past the wrapper, of no_sync(), or of the wrap.
    """
    found = _drift(ranks)
    averaging = None if found is None else ranks.averaging[found.members[0]]
    if found is None or averaging is None or not averaging.leaves:
        return
    told = _why(averaging, found.leaf)
    if told is None:
        return
    why, site = told
    wrapped = averaging.wrapped
    yield Blame(
        f"{why}: {unwrapped(found.leaf)} is not the same on all ranks before backward {found.backward} "
        f"({_words(found)})",
        site,
        (Related("cause_at", wrapped, "where the wrapper was made"),) if str(site) != str(wrapped) else (),
        certain=False,
        backward=found.backward,
        tensor=found.leaf,
    )


def _why(averaging: Averaging, leaf: str) -> tuple[str, Site | None] | None:
    """Why a leaf's gradient is not averaged, and the line; None where it is."""
    if leaf not in averaging.leaves:
        return "DistributedDataParallel averages no gradient of a parameter that was frozen when it was made", (
            averaging.wrapped
        )
    if averaging.by_hand:
        return None
    if averaging.groups:
        why = "the last backward before an optimizer's step ran in no_sync(), so that its gradients stay its own"
        return None if averaging.unsynchronised is None else (why, averaging.unsynchronised)
    if averaging.bypassed is not None:
        return (
            "the module inside DistributedDataParallel is called, so that no gradient is averaged",
            averaging.bypassed,
        )
    if averaging.unsynchronised is not None:
        return "no_sync() is never left, so that no gradient is averaged", averaging.unsynchronised
    return "DistributedDataParallel averages no gradient", averaging.wrapped


def _drift(ranks: Ranks) -> _Apart | None:
    """The first look at which replicas are apart that were not at the first one."""
    for replicas in _replicas(ranks):
        looks = _looks(ranks, replicas)
        if len(looks) > 1 and _at(ranks, replicas, looks[:1]) is None:
            found = _at(ranks, replicas, looks[1:])
            if found is not None:
                return found
    return None


def _replicas(ranks: Ranks) -> Iterator[_Replicas]:
    """The sets of ranks whose gradients are averaged, or are meant to be and never are."""
    wrapped: dict[GroupKey | None, list[int]] = {}
    by_hand: dict[GroupKey, list[int]] = {}
    for number, one in sorted(ranks.averaging.items()):
        if one.leaves and len(one.groups) < 2:  # else there are models that have a group each, say
            wrapped.setdefault(one.group, []).append(number)
        for key in {one.group for one in one.by_hand}:
            by_hand.setdefault(key, []).append(number)
    yield from (_Replicas(tuple(members)) for members in wrapped.values() if len(members) > 1)
    for key, members in by_hand.items():
        leaves = ({each.leaf for each in ranks.averaging[number].by_hand if each.group == key} for number in members)
        if len(members) > 1:
            yield _Replicas(tuple(members), frozenset(set.intersection(*leaves)))


def _cares_for(averaging: Averaging, leaf: str) -> bool:
    """Whether the wrapper averages a leaf's gradient, or would if it had not been frozen."""
    return leaf in averaging.leaves or (not averaging.ignores and _INSIDE in leaf.split("."))


def _looks(ranks: Ranks, replicas: _Replicas) -> list[int]:
    """The backward calls after which the parameters of all of these ranks were measured."""
    there = [{number for numbers in groups.values() for number in numbers} for groups in ranks.weights.values()]
    return sorted(
        backward for backward, known in zip(ranks.weights, there, strict=True) if known.issuperset(replicas.members)
    )


def _at(ranks: Ranks, replicas: _Replicas, looks: list[int]) -> _Apart | None:
    """The first of these looks at which a parameter is not the same on all ranks."""
    for backward in looks:
        groups = {
            content: [number for number in members if number in replicas.members]
            for content, members in ranks.weights[backward].items()
        }
        told = [(ranks.first_weights[backward, content], members) for content, members in groups.items() if members]
        if len(told) > 1:
            found = _first_apart(told, ranks, replicas)
            if found is not None:
                leaf, values = found
                usual = max(told, key=lambda one: (len(one[1]), -one[1][0]))[1]
                odd = sorted(number for _, members in told if members is not usual for number in members)
                return _Apart(backward, leaf, values, odd, replicas.members)
    return None


def _first_apart(
    told: list[tuple[Weights, list[int]]], ranks: Ranks, replicas: _Replicas
) -> tuple[str, tuple[str, ...]] | None:
    """The first parameter whose norm differs, where all have the same parameters."""
    if len({tuple(name for name, _ in one.norms) for one, _ in told}) != 1:
        return None
    for column in zip(*(one.norms for one, _ in told), strict=True):
        leaf, values = column[0][0], [float(value) for _, value in column]
        if not all(map(math.isfinite, values)):
            return None  # what is not finite has a cause of its own
        if replicas.leaves is not None:
            meant = leaf in replicas.leaves
        else:
            meant = all(_cares_for(ranks.averaging[number], leaf) for number in replicas.members)
        if meant and max(values) - min(values) > _NOISE * max(values):
            return leaf, tuple(sorted({f"{value:.6g}" for value in values}))
    return None


def _words(found: _Apart) -> str:
    differ = "differs" if len(found.odd) == 1 else "differ"
    return f"{named(found.odd)} {differ}: norms {', '.join(found.norms[:3])}"
