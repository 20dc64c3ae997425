"""The norms of running statistics that are buffers of a model: the way of tensors knows no names of buffers, so that
the lines which bring one up to date say which it is, from the innermost on."""

from __future__ import annotations

import ast
from collections.abc import Collection

from gradscope.model.site import Site, user_frames
from gradscope.ranks.core.copies import Replicas, looks_of
from gradscope.ranks.core.keys import unwrapped
from gradscope.ranks.core.known import Ranks
from gradscope.ranks.replicas.plain_updates import PlainState
from gradscope.ranks.source.syntax import nodes_of, tree_of
from gradscope.store.reader import Recording

Norms = dict[int, float]  # by look


def buffers_of(ranks: Ranks, replicas: Replicas, number: int) -> dict[str, Norms]:
    """The norms that a rank has of each buffer, at the looks that all of the ranks have."""
    found: dict[str, Norms] = {}
    for look in looks_of(ranks.buffers, replicas):
        for content, members in ranks.buffers.ranks[look].items():
            for name, norm in ranks.buffers.first[look, content].norms if number in members else ():
                found.setdefault(name, {})[look] = float(norm)
    return found


def buffer_of(recording: Recording, state: PlainState, buffers: Collection[str]) -> str | None:
    """The buffer that a state is: the first that the innermost line names which names any, and only one."""
    module = state.update.operation.operation.module
    path = "" if module is None else unwrapped(module.path or "")
    for site in user_frames(state.update.operation.operation.stack):
        for name in _named_on(recording, site):
            found = [each for each in buffers if _is(each, name, path)]
            if found:
                return found[0] if len(found) == 1 else None
    return None


def _is(buffer: str, name: str, path: str) -> bool:
    """Whether a buffer is called so in the module that ran, in one inside of it or in one around it."""
    owner, _, last = unwrapped(buffer).rpartition(".")
    return last == name and (_is_inside(owner, path) or _is_inside(path, owner))


def _is_inside(path: str, other: str) -> bool:
    return not other or f"{path}.".startswith(f"{other}.")


def _named_on(recording: Recording, site: Site) -> list[str]:
    """The attributes and texts on a line, from left to right: what is assigned to, or written in place, comes first."""
    found: list[tuple[int, str]] = []
    for node in nodes_of(tree_of(recording, site)):
        if isinstance(node, ast.Attribute | ast.Constant) and node.lineno == site.line:
            name = node.attr if isinstance(node, ast.Attribute) else str(node.value)
            found.append((node.end_col_offset or 0, name))
    return [name for _, name in sorted(found)]
