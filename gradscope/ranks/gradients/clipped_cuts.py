"""Gradients that ranks had put together, and that each then clips a part of by the norm of that part."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, field

from gradscope.model.flow import FlowOperation
from gradscope.model.site import Site
from gradscope.ranks.source.ways import is_collective
from gradscope.store.collective_reader import read_groups_of_runs, read_process_groups
from gradscope.store.file import damage_is_one_sentence
from gradscope.store.reader import Recording

_SUMS = ("c10d.allreduce_.",)
_SCATTERS = ("c10d._reduce_scatter_base_.", "c10d.reduce_scatter_.")
GATHERS = ("c10d.allgather_.", "c10d._allgather_base_.")
_NORMS = ("aten._foreach_norm.", "aten.linalg_vector_norm.", "aten.norm.")

Place = tuple[int, int]  # memory, and how many numbers of it a tensor has


@dataclass(slots=True)
class _Step:
    """What is known since the last backward call: sums of a group, parts of these, and parts that were clipped."""

    sums: dict[int, tuple[int, int]] = field(default_factory=dict)  # by memory: its size, and how many ranks meet
    parts: dict[Place, Site] = field(default_factory=dict)  # where they are taken
    clipped: dict[int, tuple[Site, Site]] = field(default_factory=dict)  # by size of the part: where, and that
    made: set[int] = field(default_factory=set)  # by what clips


def clipped_cuts(recording: Recording, clips: Collection[str]) -> tuple[Site, Site] | None:
    """The line among some that clips a rank's part alone, where parts are put together after it, and where that part
    is taken."""
    with damage_is_one_sentence(recording.path):
        rows, interned = recording.tables.rows, recording.tables.interned
        groups = read_process_groups(rows, interned)
        worlds = {run: len(groups[number].members) for run, number in read_groups_of_runs(rows).items()}
    places = {one.number: (one.storage, math.prod(one.type.shape)) for one in recording.flow_tensors()}
    step = _Step()
    for one in recording.flow():
        if one.backward is not None:
            step = _Step()
            continue
        read = [places[each.tensor] for each in one.reads if each.tensor in places]
        made = [places[each] for each in one.makes if each in places]
        if is_collective(one.operation.name):
            found = _meet(step, one, read, worlds.get(one.run, 1))
            if found is not None:
                return found
        elif str(one.site) in clips:
            _clip(step, one, read, made)
        else:
            _pass_on(step, one, read, made)
    return None


def _meet(step: _Step, one: FlowOperation, read: list[Place], world: int) -> tuple[Site, Site] | None:
    """Note a sum, or each rank's part of one; the line that clipped parts which are put together here."""
    name = one.operation.name
    if name.startswith(GATHERS):
        return next((step.clipped[size] for _, size in read if size in step.clipped), None)
    if name.startswith(_SUMS) and world > 1:
        step.sums.update({storage: (size, world) for storage, size in read})
    if name.startswith(_SCATTERS) and world > 1 and one.site is not None:
        whole = max((size for _, size in read), default=0)
        step.parts.update({at: one.site for at in read if at[1] * world == whole})
    return None


def _pass_on(step: _Step, one: FlowOperation, read: list[Place], made: list[Place]) -> None:
    """Note a part that is cut out of a sum, and what is made of a part."""
    for storage, size in made:
        whole, world = step.sums.get(storage, (0, 1))
        if whole and size > 1 and size == -(-whole // world) and one.site is not None:
            step.parts.setdefault((storage, size), one.site)
        source = next((step.parts[at] for at in read if at in step.parts and at[1] == size), None)
        if source is not None:
            step.parts.setdefault((storage, size), source)


def _clip(step: _Step, one: FlowOperation, read: list[Place], made: list[Place]) -> None:
    """Note a norm of parts and of nothing else."""
    given = [at for at in read if at[0] not in step.made]
    parts = [step.parts[at] for at in given if at in step.parts]
    if one.operation.name.startswith(_NORMS) and given and len(parts) == len(given) and one.site is not None:
        step.clipped.update({size: (one.site, part) for (_, size), part in zip(given, parts, strict=True)})
    step.made |= {storage for storage, _ in made} - {storage for storage, _ in read}
