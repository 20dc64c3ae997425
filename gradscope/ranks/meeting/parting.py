"""The first collective in which ranks of a group do not do the same, and ranks that wait for each other in a circle."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass

from gradscope.model.rank import Collective, Rank, State
from gradscope.ranks.core.known import Ranks
from gradscope.ranks.meeting.meeting import Key, entered

_AFTER = 4  # collectives that may have been entered after the one that does not match: those of DDP do not wait
Aspect = Callable[[Collective], Hashable]


@dataclass(frozen=True, slots=True)
class Parting:
    """A place in the sequence of a group, and by rank what was entered there. `usual` is what most ranks entered, `odd`
    who entered something else. `soon`: they came to an end soon after it, or do the same again but for this one."""

    key: Key
    at: int
    entered: dict[int, Collective]
    usual: Collective
    odd: list[int]
    soon: bool

    @property
    def others(self) -> list[int]:
        """Who entered what most ranks entered."""
        return [number for number in sorted(self.entered) if number not in self.odd]

    @property
    def is_certain(self) -> bool:
        """Whether it is an error by itself: one call, with tensors of other sizes or dtypes."""
        return len({(one.operator, str(one.site)) for one in self.entered.values()}) == 1


def first_parting(ranks: Ranks) -> Parting | None:
    """The first one that is an error by itself, or may have stopped the run: in what has to agree, else in the line."""
    stopped = any(one.state is not State.DONE for one in ranks.ranks)
    groups = list({one.group.key: None for one in ranks.collectives if one.group is not None})
    for found in _partings(ranks, groups, lambda one: one.must_agree):
        if found.is_certain or (stopped and found.soon):
            return found
    if not stopped or any(map(_stopped_by_itself, ranks.ranks)):
        return None  # lines may differ on purpose, and what stopped the run is known
    lines = _partings(ranks, groups, lambda one: (one.operator, str(one.site)))
    return next((found for found in lines if found.soon), None)


def _stopped_by_itself(one: Rank) -> bool:
    return one.state is State.RAISED or (one.state is State.KILLED and not one.waits)


def _partings(ranks: Ranks, groups: list[Key], aspect: Aspect) -> Iterator[Parting]:
    """The first one of each group."""
    for key in groups:
        start, sequences = _sequences(ranks, key)
        for at in range(max(map(len, sequences.values()), default=0)):
            now = {number: ranks.collectives[one[at]] for number, one in sequences.items() if len(one) > at}
            if len({id(one) for one in now.values()}) > 1 and len(set(map(aspect, now.values()))) > 1:
                usual = _usual(ranks, sequences, now, aspect)
                odd = [number for number in sorted(now) if aspect(now[number]) != aspect(usual)]
                soon = all(len(one) - at <= _AFTER for one in sequences.values() if len(one) > at)
                soon = soon or _is_one_more(ranks, sequences, odd, at, aspect)
                yield Parting(key, start + at, now, usual, odd, soon)
                break


def _is_one_more(ranks: Ranks, sequences: dict[int, list[int]], odd: list[int], at: int, aspect: Aspect) -> bool:
    """Whether all ranks do the same again once what the odd ones entered at a place is left out."""
    rest = [
        [aspect(ranks.collectives[entry]) for entry in sequence[at + (number in odd) :]]
        for number, sequence in sequences.items()
    ]
    shortest = min(map(len, rest))
    return shortest > 0 and len({tuple(one[:shortest]) for one in rest}) == 1


def _sequences(ranks: Ranks, key: Key) -> tuple[int, dict[int, list[int]]]:
    """What the ranks of a group entered in it from one place on; nothing where it is not known which place that is."""
    starts: dict[int, int] = {}
    before = set()
    for number in key[1]:
        for group, start in ranks.starts.get(number, {}).items():
            if group.key == key:
                if start is None:
                    return 0, {}
                starts[number] = start
                before.add(group.before)
    if len(starts) < 2 or len(before) > 1:
        return 0, {}
    first = max(starts.values())
    return first, {number: entered(ranks, number, key)[first - start :] for number, start in starts.items()}


def _usual(ranks: Ranks, sequences: dict[int, list[int]], now: dict[int, Collective], aspect: Aspect) -> Collective:
    """What most ranks entered; where as many entered something else, what more ranks enter at all, and oftener."""
    counts = Counter(map(aspect, now.values()))
    known = {key: [0] * len(sequences) for key in counts}
    for place, sequence in enumerate(sequences.values()):
        for one in sequence:
            found = aspect(ranks.collectives[one])
            if found in known:
                known[found][place] += 1
    order = list(counts)
    usual = max(order, key=lambda key: (counts[key], sum(map(bool, known[key])), sum(known[key]), -order.index(key)))
    return next(one for one in now.values() if aspect(one) == usual)


def circle_of(ranks: Ranks) -> list[Rank]:
    """Ranks each of which waits for the next one, and the last one for the first; the odd one out comes first."""
    waiting = {one.rank: one for one in ranks.ranks if one.waits and one.missing and _stands_there(one)}
    for start in waiting:
        way: list[int] = []
        now: int | None = start
        while now is not None and now not in way:
            way.append(now)
            now = next((one for one in waiting[now].missing or () if one in waiting), None)
        if now is not None:
            circle = [waiting[one] for one in way[way.index(now) :]]
            alike = Counter(map(_where, circle))
            return sorted(circle, key=lambda one: (alike[_where(one)], -one.rank))
    return []


def _stands_there(one: Rank) -> bool:
    """Whether a rank is in its last collective, as far as is known: it may have gone on from an asynchronous one."""
    last = one.collective
    if last is None or not last.asynchronous or one.at is None or last.site is None:
        return last is not None
    return (one.at.file, one.at.line) == (last.site.file, last.site.line)


def _where(one: Rank) -> Hashable:
    last = one.collective
    return None if last is None else (last.operator, str(last.site), last.group)
