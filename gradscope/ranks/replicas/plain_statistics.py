"""Running statistics in plain tensors, or in buffers, that each rank makes of its own samples alone, and computes by,
while all weights are the same on all ranks: no wrapper sends them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from gradscope.model.flow import FlowTensor
from gradscope.model.site import Site
from gradscope.ranks.core.copies import Replicas, first_apart, looks_of
from gradscope.ranks.core.known import NOISE, Ranks
from gradscope.ranks.replicas.buffer_states import Norms, buffer_of, buffers_of
from gradscope.ranks.replicas.own_statistics import sends_more
from gradscope.ranks.replicas.plain_updates import Key, PlainState, plain_states, sampled_at
from gradscope.ranks.replicas.plain_uses import PlainUses
from gradscope.ranks.source.sampled_lines import count
from gradscope.store.rank_reader import read_plain_states
from gradscope.store.reader import Recording, load

_STEPS = 2  # in which something is learned by a state, and looks at which it is apart


@dataclass(frozen=True, slots=True)
class PlainStatistics:
    """The line that makes the statistics, that which computes by them, their norms on two ranks at a look, and the
    buffer that they are, if any."""

    site: Site
    uses: Site
    backward: int
    norms: tuple[float, float]
    buffer: str | None


@dataclass(frozen=True, slots=True)
class _Told:
    """A state that a rank computes by and never exchanges, and its norms by backward call."""

    state: PlainState
    uses: Site
    norms: Norms
    buffer: str | None


def plain_statistics(ranks: Ranks, replicas: Replicas) -> PlainStatistics | None:
    """The first such state, on the first of the ranks and the last one."""
    looks = looks_of(ranks.weights, replicas)
    if len(looks) < _STEPS or first_apart(ranks.weights, replicas, looks, bool) is not None:
        return None
    with ExitStack() as files:
        here, there = (_told_by_key(ranks, replicas, replicas.members[at], files) for at in (0, -1))
    for key, one in here.items():
        other = there.get(key)
        apart = [] if other is None else [each for each in one.norms if _differ(one.norms, other.norms, each)]
        both = [] if other is None else sorted(one.norms.keys() & other.norms.keys())
        site = sampled_at(one.state.update)
        if (
            site is not None
            and other is not None
            and len(apart) >= _STEPS
            and both[-_STEPS:] == sorted(apart)[-_STEPS:]
        ):
            return PlainStatistics(
                site, one.uses, apart[-1], (one.norms[apart[-1]], other.norms[apart[-1]]), one.buffer
            )
    return None


def _told_by_key(ranks: Ranks, replicas: Replicas, number: int, files: ExitStack) -> dict[Key, _Told]:
    """What a rank computes by; of buffers as well, where no wrapper cares for them."""
    is_wrapped = ranks.averaging[number].is_wrapped if number in ranks.averaging else False
    buffers = {} if is_wrapped else buffers_of(ranks, replicas, number)
    recording = files.enter_context(load(Path(ranks.rank(number).path)))
    return {one.state.key: one for one in _told(recording, buffers)}


def _differ(ours: dict[int, float], theirs: dict[int, float], look: int) -> bool:
    values = ours[look], theirs.get(look, ours[look])
    return max(values) - min(values) > NOISE * max(values)


def _told(recording: Recording, buffers: dict[str, Norms]) -> Iterator[_Told]:
    """The states of a rank that it computes by in several steps and exchanges in none."""
    norms = read_plain_states(recording.tables.rows, recording.tables.interned)
    if not norms and not buffers:
        return
    tensors = {one.number: one for one in recording.flow_tensors()}
    states = list(plain_states(recording, tensors))
    names = {one.key: buffer_of(recording, one, buffers) for one in states}
    measured = {one.key: buffers.get(names[one.key] or "") or _norms(norms, tensors, one) for one in states}
    states = [one for one in states if len(measured[one.key]) >= _STEPS]
    uses = PlainUses(recording, states, tensors)
    uses.run()
    kept = [one for one in states if len(uses.used.get(one.key, ())) >= _STEPS and one.key not in uses.sent]
    if kept and not sends_more(recording, max(_size(tensors, one) for one in kept)):
        yield from (_Told(one, uses.lines[one.key], measured[one.key], names[one.key]) for one in kept)


def _norms(norms: dict[int, dict[int, float]], tensors: dict[int, FlowTensor], state: PlainState) -> Norms:
    """The norms of a state, by look: those of the tensor that is all of it."""
    size, found = _size(tensors, state), dict[int, float]()
    for look, values in norms.items():
        known = (number for number in sorted(values) if number in tensors)
        whole = [each for each in known if tensors[each].storage in state.storages and count(tensors[each]) == size]
        if whole:
            found[look] = values[whole[-1]]
    return found


def _size(tensors: dict[int, FlowTensor], state: PlainState) -> int:
    made = (tensors[each] for each in state.update.operation.makes if each in tensors)
    return max(map(count, made), default=0)
