"""Parameters that tensor-parallel ranks hold alike, and that drift, as what their part of a layer passes back is summed
by nobody: the gradient of an input that all have is the sum over all parts."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from gradscope.model.site import Site
from gradscope.ranks.core.copies import Apart, Replicas, apart_words, first_apart, looks_of
from gradscope.ranks.core.keys import unwrapped
from gradscope.ranks.core.kind import Blame
from gradscope.ranks.core.known import NOISE, Ranks
from gradscope.ranks.core.losses import losses_of
from gradscope.ranks.replicas.common_inputs import common_inputs
from gradscope.ranks.replicas.drifting import why_apart
from gradscope.ranks.replicas.parted_products import PartedProduct, parted_products
from gradscope.ranks.replicas.passing_back import passes_back, told_at
from gradscope.ranks.source.leaf_names import LeafNames, leaf_names
from gradscope.store.file import damage_is_one_sentence
from gradscope.store.rank_reader import read_graphs
from gradscope.store.reader import Recording, load

_SUMS = ("c10d.allreduce_.", "_c10d_functional.all_reduce")
_MOST = 8  # ranks


@dataclass(frozen=True, slots=True)
class PartialGradient:
    """The parameter, that of which each rank has a part, the Function whose backward sums nothing, and the line."""

    apart: Apart
    part: str
    function: str | None
    site: Site | None


def trained_by_shares(ranks: Ranks) -> Iterator[Blame]:
    """What ranks of one model with sharded layers hold alike, and train by the gradient of their own shards alone."""
    for one in _partial_gradients(ranks):
        of = "" if one.function is None else f" by {one.function}"
        yield Blame(
            f"{unwrapped(one.apart.leaf)} is not the same on all ranks before backward {one.apart.backward} "
            f"({apart_words(one.apart)}); at the first backward it was equal: what is passed back{of} from a rank's "
            f"part of {unwrapped(one.part)} is its share of the gradient, and no rank sums the shares",
            one.site,
            certain=False,
            backward=one.apart.backward,
            tensor=one.apart.leaf,
        )


def _partial_gradients(ranks: Ranks) -> Iterator[PartialGradient]:
    """The first such parameter."""
    found = (_found(ranks, one) for one in holders_of_parts(ranks))
    yield from islice((one for one in found if one is not None), 1)


def holders_of_parts(ranks: Ranks) -> Iterator[Replicas]:
    """Ranks that sum activations on the way to backward calls, and no gradients of parameters."""
    if any(one.is_wrapped or one.by_hand for one in ranks.averaging.values()):
        return
    there = {one.rank for one in ranks.ranks}
    for key in _groups(ranks):
        if 1 < len(key[1]) <= _MOST and there.issuperset(key[1]):
            yield Replicas(key[1], key)


def _groups(ranks: Ranks) -> list[tuple[str, tuple[int, ...]]]:
    """The groups that sum activations on the way to backward calls."""
    sums = (one for one in ranks.collectives if one.operator.startswith(_SUMS) and not one.inside)
    return sorted({one.group.key for one in sums if one.group and any(len(each.shape) > 1 for each in one.types)})


def _found(ranks: Ranks, replicas: Replicas) -> PartialGradient | None:
    looks = looks_of(ranks.leaves, replicas)
    if len(looks) < 2 or not have_one_loss(ranks, replicas, looks[0]):
        return None
    alike, unlike = alike_at_first(ranks, replicas, looks)
    if not alike or not unlike or first_apart(ranks.leaves, replicas, looks[1:], alike.__contains__) is None:
        return None
    number = replicas.members[0]
    with load(Path(ranks.rank(number).path)) as recording:
        names = leaf_names(recording)
        own = tuple({ranks.own(number, name) for name in each} for each in (alike, unlike))
        for look, products in parted_products(recording, names, *own).items():
            for product in products:
                leaves = {name for name in alike if ranks.own(number, name) in product.shared}
                apart = first_apart(ranks.leaves, replicas, looks[1:], leaves.__contains__)
                if apart is None or look >= apart.backward or why_apart(ranks, apart) is not None:
                    continue
                told = passes_back(recording, names, look, product, ranks.own(number, apart.leaf))
                if told is not None:
                    return PartialGradient(apart, product.part, *told)
        return _of_a_common_input(ranks, replicas, (looks[1:], own[0], own[1]), recording, names)


def _of_a_common_input(
    ranks: Ranks,
    replicas: Replicas,
    known: tuple[list[int], set[str], set[str]],
    recording: Recording,
    names: LeafNames,
) -> PartialGradient | None:
    """The same, where no weight is cut out of a whole one: each rank draws its part. A layer may come late."""
    later, alike, unlike = known
    number = replicas.members[0]
    for look in _of_new_graphs(recording, later[-1]):
        if not have_one_loss(ranks, replicas, look):
            continue
        for one in common_inputs(recording, names, look, alike, unlike):
            leaves = {ranks.own(number, leaf) for leaf in one.leaves}
            apart = first_apart(ranks.leaves, replicas, later, leaves.__contains__)
            if apart is not None and look < apart.backward and why_apart(ranks, apart) is None:
                told = told_at(recording, names, look, one.ways, one.node, PartedProduct(one.part, one.leaves, (), 0))
                return PartialGradient(apart, one.part, *told)
    return None


def _of_new_graphs(recording: Recording, until: int) -> list[int]:
    """The backward calls before a look whose graph no call before had."""
    with damage_is_one_sentence(recording.path):
        graphs = read_graphs(recording.tables.rows)
    first: dict[int, int] = {}
    for number in sorted(graphs):
        first.setdefault(graphs[number], number)
    return [number for number in first.values() if number < until]


def have_one_loss(ranks: Ranks, replicas: Replicas, look: int) -> bool:
    """Whether all ranks begin with the same loss: else each has samples of its own."""
    values = [one.get(look, math.nan) for one in losses_of(ranks, replicas.members)]
    return all(math.isclose(values[0], one, rel_tol=NOISE) for one in values)


def alike_at_first(ranks: Ranks, replicas: Replicas, looks: list[int]) -> tuple[set[str], set[str]]:
    """The parameters that all ranks have alike at the first look that has them, and those that they have not."""
    values: dict[str, list[float]] = {}
    for look in looks:
        there: dict[str, list[float]] = defaultdict(list)
        for content, members in ranks.leaves.ranks[look].items():
            if not set(members).isdisjoint(replicas.members):
                for name, norm in ranks.leaves.first[look, content].norms:
                    there[name].append(float(norm))
        values = {**there, **values}
    alike = {name for name, each in values.items() if max(each) - min(each) <= NOISE * max(each)}
    return alike, values.keys() - alike
