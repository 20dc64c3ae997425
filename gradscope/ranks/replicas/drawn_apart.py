"""Parameters that tensor-parallel ranks hold alike, and that drift: each rank draws masks of its own over activations
which all of them have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gradscope.model.averaging import GroupKey
from gradscope.model.flow import FlowOperation
from gradscope.model.operation import Operation, base_name
from gradscope.model.rank import Collective
from gradscope.model.site import Site
from gradscope.ranks.core.copies import Apart, Replicas, first_apart, looks_of
from gradscope.ranks.core.known import NOISE, Ranks
from gradscope.ranks.replicas.drifting import why_apart
from gradscope.ranks.source.attributes import calls_of
from gradscope.ranks.source.deciding import DRAWS
from gradscope.ranks.source.seeds import RESTORES, drawing_calls, last_before, named_for_rank, seeds_of_torch
from gradscope.ranks.source.ways import is_collective
from gradscope.store.file import damage_is_one_sentence
from gradscope.store.reader import Recording, load

_SUMS = ("c10d.allreduce_.", "_c10d_functional.all_reduce")
_DRAWS = DRAWS | {"native_dropout", "rand_like", "randn_like", "exponential_"}  # operators
_NEARLY = 0.9  # of the backward calls
_MOST = 8  # ranks: two of them are read


@dataclass(frozen=True, slots=True)
class DrawnApart:
    """The parameter, the line that draws, and the one that seeds what it draws by with the number of the rank."""

    apart: Apart
    drawn: Site | None
    seed: Site


@dataclass(frozen=True, slots=True)
class _Forward:
    """Of the operators up to the first backward call: `drawn` are those whose result meets activations that no sharded
    parameter had a part in since ranks met; `random` the parameters that were drawn, `direct` those that reach the loss
    on a way on which no rank meets others."""

    drawn: tuple[Operation, ...]
    random: frozenset[str]
    direct: frozenset[str]


def drawn_apart(ranks: Ranks) -> Iterator[DrawnApart]:
    """The first such parameter."""
    if any(one.is_wrapped or one.by_hand for one in ranks.averaging.values()):
        return
    there = {one.rank for one in ranks.ranks}
    for key in _groups(ranks.collectives):
        if 1 < len(key[1]) <= _MOST and there.issuperset(key[1]) and _meet_in_all(ranks, key):
            found = _found(ranks, Replicas(key[1], key))
            if found is not None:
                yield found
                return


def _groups(collectives: list[Collective]) -> list[GroupKey]:
    """The groups that sum activations of one shape both on the way to backward calls and in them."""
    summed: dict[bool, set[tuple[GroupKey, tuple[int, ...]]]] = {False: set(), True: set()}
    for one in collectives:
        if one.group is not None and one.operator.startswith(_SUMS):
            summed[one.inside] |= {(one.group.key, each.shape) for each in one.types if len(each.shape) > 1}
    return sorted({key for key, _ in summed[False] & summed[True]})


def _meet_in_all(ranks: Ranks, key: GroupKey) -> bool:
    """Whether the ranks of a group sum in it about once a backward call at least, before it and in it."""
    sums = {
        number: one.inside
        for number, one in enumerate(ranks.collectives)
        if one.group is not None and one.group.key == key and one.operator.startswith(_SUMS)
    }
    for rank in key[1]:
        counts = Counter(sums[one] for one in ranks.sequences[rank] if one in sums)
        if min(counts[False], counts[True]) < max(1, _NEARLY * ranks.rank(rank).backwards):
            return False
    return True


def _found(ranks: Ranks, replicas: Replicas) -> DrawnApart | None:
    looks = looks_of(ranks.weights, replicas)
    alike, unlike = _at_first(ranks, replicas, looks[0]) if looks else (set[str](), set[str]())
    if not alike or not unlike or first_apart(ranks.weights, replicas, looks[1:], alike.__contains__) is None:
        return None
    number = replicas.members[-1]
    path = Path(ranks.rank(number).path)
    with load(path) as recording, damage_is_one_sentence(path):
        sharded = {ranks.own(number, name) for name in unlike}
        forward = _forward(recording, sharded)
        if sharded & forward.direct:
            return None  # models of their own, that exchange something
        kept = {name for name in alike if ranks.own(number, name) in forward.random & forward.direct}
        apart = first_apart(ranks.weights, replicas, looks[1:], kept.__contains__)
        told = None if apart is None else _seeded(recording, forward.drawn)
    if apart is None or told is None or why_apart(ranks, apart) is not None:
        return None
    return DrawnApart(apart, *told)


def _at_first(ranks: Ranks, replicas: Replicas, look: int) -> tuple[set[str], set[str]]:
    """The parameters of a look that all ranks have alike, and those that they have not."""
    values: dict[str, list[float]] = {}
    for content, members in ranks.weights.ranks[look].items():
        if not set(members).isdisjoint(replicas.members):
            for name, norm in ranks.weights.first[look, content].norms:
                values.setdefault(name, []).append(float(norm))
    alike = {name for name, each in values.items() if max(each) - min(each) <= NOISE * max(each)}
    return alike, values.keys() - alike


def _seeded(recording: Recording, drawn: tuple[Operation, ...]) -> tuple[Site | None, Site] | None:
    """The line of the first draw whose last seed is one by the rank's number, and that of the seed; None where states
    are put back, which may be those of others on purpose."""
    if any(True for _ in calls_of(recording, *RESTORES, "fork_rng")):
        return None
    seeds = list(seeds_of_torch(recording))
    for one in drawn:
        last = None if drawing_calls(recording, one.stack, given=True) else last_before(seeds, one.stack)
        site = None if last is None else named_for_rank(recording, last)
        if site is not None:
            return one.site, site
    return None


def _forward(recording: Recording, sharded: set[str]) -> _Forward:
    """What is known of the way to the first backward call."""
    tensors = list(recording.flow_tensors())
    storages = {one.number: one.storage for one in tensors}
    parameters = {one.storage: one.leaf for one in tensors if one.parameter and one.leaf}
    ways = list(_before_backwards(recording))
    ours = {storage for storage, leaf in parameters.items() if leaf in sharded}
    drawn, random = _draws(ways, storages, set(parameters), ours)
    ends = {storages[one.tensor] for one in recording.flow_ends() if one.backward == 0 and not one.target}
    direct = _reaching(ways, storages, ends)
    return _Forward(
        tuple(drawn),
        frozenset(parameters[one] for one in random),
        frozenset(leaf for storage, leaf in parameters.items() if storage in direct),
    )


def _before_backwards(recording: Recording) -> Iterator[FlowOperation]:
    for one in recording.flow():
        if one.backward is not None:
            return
        yield one


def _draws(
    ways: list[FlowOperation], storages: dict[int, int], parameters: set[int], sharded: set[int]
) -> tuple[list[Operation], set[int]]:
    """The draws that meet activations which all ranks have, and the parameters that were drawn."""
    found: list[Operation] = []
    random: set[int] = set()
    come: dict[int, Operation] = {}  # by storage, the draw that it comes from
    apart = set(sharded)
    for one in ways:
        reads, makes = ({storages[at] for at in each} for each in ((read.tensor for read in one.reads), one.makes))
        if is_collective(one.operation.name):
            apart -= makes
            continue
        draws = base_name(one.operation.name) in _DRAWS
        source = one.operation if draws else next((come[at] for at in reads if at in come), None)
        random |= makes & parameters if source is not None else set()
        learning = {storages[each.tensor] for each in one.reads if each.requires_grad}
        if source is not None and not learning:
            come |= dict.fromkeys(makes - parameters, source)
        elif source is not None and learning - parameters and apart.isdisjoint(reads):
            found.append(source)
        if not apart.isdisjoint(reads):
            apart |= makes
    return found, random


def _reaching(ways: list[FlowOperation], storages: dict[int, int], ends: set[int]) -> set[int]:
    """The storages from which something comes to the ends without an exchange between ranks."""
    needed = set(ends)
    for one in reversed(ways):
        makes = {storages[at] for at in one.makes}
        if needed.isdisjoint(makes):
            continue
        if is_collective(one.operation.name):
            needed -= makes
        else:
            needed |= {storages[each.tensor] for each in one.reads}
    return needed
