"""Multi-grad hooks: torch hangs one on each of its tensors, and runs it once in a backward.

In mode "all" torch counts, by graph task, the tensors that have their gradient, and forgets the count when it has run
the hook; in mode "any" it notes that it ran (torch.autograd.graph.register_multi_grad_hook, torch 2.13).
"""

from __future__ import annotations

import weakref
from typing import Any

from gradscope.torch_internals.running import current_task


class Shared:
    """What the tensors of one multi-grad hook share."""

    __slots__ = ("__weakref__", "_all", "_notes", "_told")

    def __init__(self, notes: dict[int, Any], all_of_them: bool) -> None:
        self._notes, self._all = notes, all_of_them
        self._told: set[int] = set()  # graph tasks, in mode "any"

    def ran(self) -> bool:
        """Whether the hook itself ran, asked after one of its tensors had its turn."""
        task = current_task()
        if self._all:
            return task not in self._notes
        first = task not in self._told
        self._told.add(task)
        return first


_known: weakref.WeakValueDictionary[int, Shared] = weakref.WeakValueDictionary()  # by the identity of torch's notes


def shared(names: dict[str, Any]) -> Shared | None:
    """What the hook that is just being registered shares; `names` are the local names of torch's function."""
    all_of_them = names.get("mode") == "all"
    notes = names.get("count" if all_of_them else "ran_hook")
    if not isinstance(notes, dict):
        return None
    found = _known.get(id(notes))
    if found is None:
        found = _known[id(notes)] = Shared(notes, all_of_them)
    return found
