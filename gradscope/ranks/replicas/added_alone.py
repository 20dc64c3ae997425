"""Gradients of a rank's own that are added to averaged ones behind the exchange, told by what ran: one tensor was made
in a backward in which ranks met, the other in one in which they did not, and no collective was given it since."""

from __future__ import annotations

from gradscope.model.operation import base_name
from gradscope.ranks.core.known import Told
from gradscope.ranks.source.ways import is_collective
from gradscope.store.reader import Recording

_WHY = "a gradient of the rank's own is added to the averaged one behind the exchange"


def added_alone(recording: Recording) -> Told | None:
    """Why copies go apart, and the line that changes averaged gradients in place by others."""
    storages = {one.number: one.storage for one in recording.flow_tensors() if not one.parameter}
    made: dict[int, int] = {}  # by storage: the backward call that wrote it last, and nobody outside of it
    calls = {one.number: recording.operators(one.number) for one in recording.backwards()}
    met = {number for number, ran in calls.items() if any(is_collective(name) for _, name in ran)}
    for one in recording.flow():
        touched = [storages[at] for at in one.makes if at in storages]
        read = [storages[each.tensor] for each in one.reads if each.tensor in storages]
        if is_collective(one.operation.name) and one.backward is None:
            for storage in (*touched, *read):
                made.pop(storage, None)
        elif one.backward is not None:
            made.update(dict.fromkeys(touched, one.backward))
        else:
            by = {made[storage] for storage in read if storage in made}
            changes = base_name(one.operation.name).endswith("_") and read and made.get(read[0]) in met
            if changes and by - met and one.site is not None:
                return _WHY, one.site
            for storage in touched:
                made.pop(storage, None)
    return None
