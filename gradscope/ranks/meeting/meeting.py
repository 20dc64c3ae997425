"""Who has met whom: what each rank entered in a group, in order, and for whom the last one that it entered waits."""

from __future__ import annotations

from gradscope.model.rank import Collective, Rank
from gradscope.ranks.core.known import Ranks

Key = tuple[str, tuple[int, ...]]


def entered(ranks: Ranks, number: int, key: Key) -> list[int]:
    """What a rank entered in a group, without what is between two, as places in `ranks.collectives`."""
    members = ranks.of_group.get(key)
    if members is None:
        members = ranks.of_group[key] = {at for at, one in enumerate(ranks.collectives) if _is_in(one, key)}
    return [one for one in ranks.sequences.get(number, ()) if one in members]


def _is_in(one: Collective, key: Key) -> bool:
    return one.group is not None and one.group.key == key and not one.between_two


def missing(ranks: Ranks, one: Rank) -> tuple[int, ...] | None:
    """The ranks that have not entered what a rank entered last; None where that cannot be known."""
    last = one.collective
    if last is None or last.group is None:
        return None
    return _silent_peer(ranks, one.rank, last) if last.between_two else _behind(ranks, one.rank, last)


def _behind(ranks: Ranks, number: int, last: Collective) -> tuple[int, ...] | None:
    group = last.group
    if group is None or last.sequence is None:
        return None
    found, known = [], True
    for member in group.members:
        if member == number:
            continue
        start = ranks.starts.get(member, {}).get(group, 0)
        if member not in ranks.sequences or start is None:
            known = False
        elif start + len(entered(ranks, member, group.key)) <= last.sequence:
            found.append(member)
    return tuple(found) if found or known else None


def _silent_peer(ranks: Ranks, number: int, last: Collective) -> tuple[int, ...] | None:
    """The peer, if it has answered less often than it was asked: nothing is known of messages before the recording."""
    peer = last.peer
    if peer is None or peer not in ranks.sequences:
        return None
    asked = sum(1 for one in _between(ranks, number, peer) if one.sends == last.sends)
    answered = sum(1 for one in _between(ranks, peer, number) if one.sends != last.sends)
    return (peer,) if answered < asked else None


def _between(ranks: Ranks, number: int, peer: int) -> list[Collective]:
    found = (ranks.collectives[one] for one in ranks.sequences[number])
    return [one for one in found if one.between_two and one.peer == peer]
