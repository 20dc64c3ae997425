"""Where a rank wrote a parameter by itself after the wrap, which made it equal on all ranks, and before any step."""

from __future__ import annotations

from gradscope.model.site import Site, Stack, user_frames
from gradscope.ranks.source.ways import is_collective
from gradscope.store.reader import Recording


def written_after(recording: Recording, leaf: str, wrapped: Site) -> Site | None:
    """The first line that writes a parameter after the last operator of the wrap's line, which may build the model as
    well, and before any backward; of one that was made after the wrap, the line that comes to make it, in the function
    that wraps."""
    storages = {one.number: one.storage for one in recording.flow_tensors()}
    own = {one.storage for one in recording.flow_tensors() if one.parameter and one.leaf == leaf}
    is_known = is_wrapped = False
    found: Stack = ()
    for one in recording.flow():
        if one.backward is not None:
            break
        makes = any(storages.get(at) in own for at in one.makes)
        is_known = is_known or any(storages.get(each.tensor) in own for each in one.reads)
        if str(one.site) == str(wrapped):
            is_wrapped = is_wrapped or is_collective(one.operation.name)
            found = ()
        elif is_wrapped and makes and not is_known:
            return _comes_to(one.operation.stack, wrapped)
        elif is_wrapped and makes and not found and one.operation.writes and not is_collective(one.operation.name):
            found = one.operation.stack
        is_known = is_known or makes
    return user_frames(found)[0] if found else None


def _comes_to(stack: Stack, wrapped: Site) -> Site | None:
    return next((one for one in user_frames(stack) if one.is_in_function_of(wrapped)), None)
