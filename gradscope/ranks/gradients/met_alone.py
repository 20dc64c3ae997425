"""Gradients of a pipeline's stage, scaled by a norm that it sums over a group in which it is alone: what comes back is
its own."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

from gradscope.model.flow import FlowOperation, FlowTensor
from gradscope.model.operation import base_name
from gradscope.model.rank import Collective, Rank
from gradscope.model.site import Site
from gradscope.ranks.core.known import Ranks
from gradscope.ranks.gradients.norm_values import NORMS
from gradscope.ranks.source.ways import is_collective
from gradscope.store.collective_reader import read_groups_of_runs, read_process_groups
from gradscope.store.file import damage_is_one_sentence
from gradscope.store.reader import Recording, load

_MOST = 8  # ranks: each is read
_SUMS = frozenset(("allreduce_", "all_reduce"))
_SQUARES = frozenset(("pow", "square", "mul", "dot", "vdot", "_foreach_pow", "_foreach_mul"))
_SCALES = frozenset(("mul", "div", "_foreach_mul", "_foreach_div"))
_RECEIVES = frozenset(("recv", "irecv", "recv_any_source"))

Places = tuple[Site, Site]


@dataclass(slots=True)
class _Walk:
    """By memory, since the last backward call: `lengths`, what comes of squares or norms of gradients, with the line
    that summed it over a group of one, if one did. `gradients` is what backward calls have made."""

    tensors: dict[int, FlowTensor]
    gradients: set[int] = field(default_factory=set)
    lengths: dict[int, Site | None] = field(default_factory=dict)

    def memory(self, at: int) -> int:
        """The storage of a tensor; none has a negative number."""
        return self.tensors[at].storage if at in self.tensors else -1

    def size(self, at: int) -> int:
        """How many numbers it has."""
        return math.prod(self.tensors[at].type.shape) if at in self.tensors else 0


def met_alone(ranks: Ranks) -> Places | None:
    """The line that sums a norm over a group of this rank alone, and the line that scales by it: where ranks have
    weights of their own, and receive what others have computed."""
    sums = [one for one in ranks.collectives if not one.inside and one.name in {name.strip("_") for name in _SUMS}]
    if not any(map(_is_alone, sums)) or not any(one.name in _RECEIVES for one in ranks.collectives):
        return None
    if any(len(members) > 1 for looks in ranks.weights.ranks.values() for members in looks.values()):
        return None
    return next(filter(None, map(_of_rank, ranks.ranks[:_MOST])), None) if len(ranks.ranks) > 1 else None


def _of_rank(rank: Rank) -> Places | None:
    with load(Path(rank.path)) as recording:
        return _scaled(recording)


def _is_alone(one: Collective) -> bool:
    return one.group is not None and len(one.group.members) == 1 and any(math.prod(a.shape) == 1 for a in one.types)


def _scaled(recording: Recording) -> Places | None:
    with damage_is_one_sentence(recording.path):
        rows, interned = recording.tables.rows, recording.tables.interned
        groups = read_process_groups(rows, interned)
        alone = {run for run, number in read_groups_of_runs(rows).items() if len(groups[number].members) == 1}
    walk = _Walk({one.number: one for one in recording.flow_tensors()})
    for one in recording.flow():
        if one.backward is not None:
            walk.lengths.clear()
            walk.gradients.update(map(walk.memory, one.makes))
        elif is_collective(one.operation.name):
            _meet(walk, one, alone)
        else:
            told = _by(walk, one)
            if told is not None and one.site is not None:
                return told, one.site
            _pass_on(walk, one)
    return None


def _meet(walk: _Walk, one: FlowOperation, alone: Collection[int]) -> None:
    """Note the line that sums a norm over a group of one; others know of it once it has met them."""
    for memory in [walk.memory(each.tensor) for each in one.reads]:
        if memory in walk.lengths and one.run in alone and base_name(one.operation.name) in _SUMS:
            walk.lengths[memory] = one.site
        elif one.run not in alone:
            walk.lengths.pop(memory, None)


def _by(walk: _Walk, one: FlowOperation) -> Site | None:
    """The line that summed, over a group of one, what an operator scales a gradient by."""
    if base_name(one.operation.name).removesuffix("_") not in _SCALES:
        return None
    large = [each.tensor for each in one.reads if walk.size(each.tensor) > 1]
    if not large or not all(walk.memory(at) in walk.gradients for at in large):
        return None
    by = [walk.memory(each.tensor) for each in one.reads if walk.size(each.tensor) == 1]
    return next((walk.lengths[memory] for memory in by if walk.lengths.get(memory) is not None), None)


def _pass_on(walk: _Walk, one: FlowOperation) -> None:
    """Note norms and squares of gradients, and what is computed of these."""
    name, reads = base_name(one.operation.name), [walk.memory(each.tensor) for each in one.reads]
    of = [walk.lengths[memory] for memory in reads if memory in walk.lengths]
    is_first = name in NORMS | _SQUARES and bool(reads) and walk.gradients.issuperset(reads)
    for made in map(walk.memory, one.makes):
        if of or (is_first and made not in walk.gradients):
            walk.lengths[made] = next((site for site in of if site is not None), None)
        elif made not in reads:
            walk.lengths.pop(made, None)
