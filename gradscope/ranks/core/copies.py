"""Which ranks hold copies of one model, and where what was measured of these copies is first not equal."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from gradscope.model.averaging import Averaging, GroupKey
from gradscope.model.rank import Rank, Weights
from gradscope.model.site import Site
from gradscope.ranks.core.known import NOISE, Looks, Ranks
from gradscope.ranks.core.words import named

SEVERAL = 4  # ranks whose whole way of tensors is read, of however many there are: other ranks run the same lines
_ENOUGH = 3  # looks at which weights that are trained are equal on all ranks
_MOST = 0.5  # of the parameters of a rank
_SUMS = frozenset(("allreduce", "all_reduce"))
_SMALL = 64  # bytes: what is shown of a step is no gradient of a model
_INSIDE = "module"  # the attribute in which DistributedDataParallel has what it wraps


@dataclass(frozen=True, slots=True)
class Replicas:
    """Ranks whose gradients are meant to be averaged, and in which group, None where that is not known; `leaves`: of
    these, None for those that the wrapper cares for."""

    members: tuple[int, ...]
    group: GroupKey | None
    leaves: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class Apart:
    """The first parameter or buffer whose norm is not the same on all ranks, at a look."""

    backward: int
    leaf: str
    norms: tuple[str, ...]
    odd: list[int]
    replicas: Replicas

    @property
    def members(self) -> tuple[int, ...]:
        """All of the ranks."""
        return self.replicas.members


def replicas_of(ranks: Ranks) -> Iterator[Replicas]:
    """The sets of ranks whose gradients are averaged, or are meant to be and never are."""
    wrapped: dict[GroupKey | None, list[int]] = {}
    by_hand: dict[GroupKey, list[int]] = {}
    for number, one in sorted(ranks.averaging.items()):
        if one.is_wrapped and len(one.groups) < 2:  # else there are models that have a group each, say
            wrapped.setdefault(one.group, []).append(number)
        for key in {one.group for one in (*one.by_hand, *one.in_hooks)}:
            by_hand.setdefault(key, []).append(number)
    yield from (Replicas(tuple(members), key) for key, members in wrapped.items() if len(members) > 1)
    for key, members in by_hand.items():
        leaves = (_summed_by_hand(ranks, number, key) for number in members)
        if len(members) > 1:
            yield Replicas(tuple(members), key, frozenset(set.intersection(*leaves)))


def trained_alike(ranks: Ranks) -> Iterator[Replicas]:
    """The sets of ranks whose gradients are averaged; where none is known, all, if what they train stays equal: they
    may average in a way that nobody follows."""
    known = list(replicas_of(ranks))
    yield from known
    every = Replicas(tuple(one.rank for one in ranks.ranks), None)
    looks = [] if known or len(every.members) < 2 else looks_of(ranks.weights, every)
    are_equal = len(looks) >= _ENOUGH and all(len(ranks.weights.ranks[one]) == 1 for one in looks)
    if are_equal and values_at(ranks.weights, looks[:1]) != values_at(ranks.weights, looks[-1:]):
        yield every


def summed_in_each_step(ranks: Ranks) -> tuple[int, ...]:
    """The ranks that train together: their gradients are averaged; else those that sum something of some size by one
    line at least as often as they take derivatives, as a step does that keeps its gradients to itself."""
    known = next((one.members for one in trained_alike(ranks)), ())
    every = tuple(one.rank for one in ranks.ranks)
    sums = [_sums_as_often(ranks, one) for one in ranks.ranks] if not known and len(every) > 1 else []
    return every if sums and set.intersection(*sums) else known


def _sums_as_often(ranks: Ranks, one: Rank) -> set[tuple[Site, GroupKey]]:
    """The lines by which a rank summed something at least as often as it called backward, and the groups."""
    counts: Counter[tuple[Site, GroupKey]] = Counter()
    for number in ranks.sequences.get(one.rank, ()):
        met = ranks.collectives[number]
        if met.site is not None and met.group is not None and met.name in _SUMS and met.size > _SMALL:
            counts[met.site, met.group.key] += 1
    return {key for key, count in counts.items() if count >= max(one.backwards, _ENOUGH)}


def average_most(ranks: Ranks, replicas: Replicas) -> bool:
    """Whether replicas average most of the parameters that each of them has: parts of one model may share a few."""
    if replicas.leaves is None:
        return True
    measured, names = ranks.weights, dict[int, set[str]]()
    for look, groups in sorted(measured.ranks.items()):
        for content, members in groups.items():
            for number in members:
                names.setdefault(number, {name for name, _ in measured.first[look, content].norms})
    return all(
        len(replicas.leaves & names.get(one, set())) > _MOST * len(names.get(one, ())) for one in replicas.members
    )


def _summed_by_hand(ranks: Ranks, number: int, key: GroupKey) -> set[str]:
    """The leaves whose gradients a rank itself has reduced in a group, by hand or in hooks."""
    reduced = (*ranks.averaging[number].by_hand, *ranks.averaging[number].in_hooks)
    return {ranks.own(number, each.leaf) for each in reduced if each.group == key}


def looks_of(measured: Looks, replicas: Replicas) -> list[int]:
    """The backward calls after which all of these ranks were measured, when they had met equally often: one may have
    had less to do in an epoch, so that its next one begins with a number that is not the others'."""
    there = {backward: set().union(*groups.values()) for backward, groups in measured.ranks.items()}
    return sorted(
        backward
        for backward, known in there.items()
        if known.issuperset(replicas.members) and _have_met(measured, replicas, backward)
    )


def _have_met(measured: Looks, replicas: Replicas, backward: int) -> bool:
    """Whether replicas had met equally often in their group before a look."""
    if replicas.group is None:
        return True
    counts = (measured.met[number, backward].get(replicas.group, 0) for number in replicas.members)
    return len(set(counts)) < 2


def values_at(measured: Looks, looks: list[int]) -> dict[str, set[str]]:
    """The norms that any rank has at these looks, by name."""
    found: dict[str, set[str]] = {}
    for backward in looks:
        for content in measured.ranks[backward]:
            for name, norm in measured.first[backward, content].norms:
                found.setdefault(name, set()).add(norm)
    return found


def first_apart(measured: Looks, replicas: Replicas, looks: list[int], is_meant: Callable[[str], bool]) -> Apart | None:
    """The first of these looks at which something that is meant is not the same on all ranks."""
    for backward in looks:
        groups = {
            content: [number for number in members if number in replicas.members]
            for content, members in measured.ranks[backward].items()
        }
        told = [(measured.first[backward, content], members) for content, members in groups.items() if members]
        if len(told) > 1:
            found = _apart(told, is_meant)
            if found is not None:
                leaf, values = found
                usual = max(told, key=lambda one: (len(one[1]), -one[1][0]))[1]
                odd = sorted(number for _, members in told if members is not usual for number in members)
                return Apart(backward, leaf, values, odd, replicas)
    return None


def _apart(
    told: list[tuple[Weights, list[int]]], is_meant: Callable[[str], bool]
) -> tuple[str, tuple[str, ...]] | None:
    """The first whose norm differs, where all have the same ones."""
    if len({tuple(name for name, _ in one.norms) for one, _ in told}) != 1:
        return None
    for column in zip(*(one.norms for one, _ in told), strict=True):
        leaf, values = column[0][0], [float(value) for _, value in column]
        if not all(map(math.isfinite, values)):
            return None  # what is not finite has a cause of its own
        if is_meant(leaf) and max(values) - min(values) > NOISE * max(values):
            return leaf, tuple(sorted({f"{value:.6g}" for value in values}))
    return None


def apart_words(found: Apart) -> str:
    """Which ranks differ, and in what."""
    differ = "differs" if len(found.odd) == 1 else "differ"
    return f"{named(found.odd)} {differ}: norms {', '.join(found.norms[:3])}"


def is_averaged(ranks: Ranks, replicas: Replicas, leaf: str) -> bool:
    """Whether a leaf's gradient is averaged between replicas, or is meant to be."""
    if replicas.leaves is not None:
        return leaf in replicas.leaves
    return all(_cares_for(ranks.averaging[number], ranks.own(number, leaf)) for number in replicas.members)


def _cares_for(averaging: Averaging, leaf: str) -> bool:
    """Whether the wrapper averages a leaf's gradient, or would if it had not been frozen."""
    return leaf in averaging.leaves or (not averaging.ignores and _INSIDE in leaf.split("."))
