"""Which parameters the optimizers of a rank hold, and which it broadcasts after a backward call."""

from __future__ import annotations

from gradscope.model.operation import base_name
from gradscope.model.site import Site
from gradscope.ranks.source.ways import is_collective
from gradscope.store.reader import Recording

SENDS = ("broadcast_", "broadcast")


def held_by(recording: Recording) -> set[str]:
    """The parameters that optimizers of a rank hold."""
    return {each.name for look in recording.optimizer_looks() for each in look.parameters}


def sent_by(recording: Recording) -> dict[str, Site | None]:
    """The parameters that are broadcast after a backward call, and the line."""
    tensors = {one.number: one for one in recording.flow_tensors()}
    names = {one.storage: one.leaf for one in tensors.values() if one.parameter and one.leaf is not None}
    found: dict[str, Site | None] = {}
    begun = False
    for one in recording.flow():
        begun = begun or one.backward is not None
        if begun and is_collective(one.operation.name) and base_name(one.operation.name) in SENDS:
            storages = (tensors[each.tensor].storage for each in one.reads if each.tensor in tensors)
            found |= {names[storage]: one.site for storage in storages if storage in names}
    return found
