"""Notices forward hooks that a line hangs on a module again and again while those of before are still there.

They are no part of the graph, so nothing else is recorded of them.
"""

from __future__ import annotations

from typing import Any

from gradscope.model.notice import FORWARD_HOOKS_PILE_UP
from gradscope.probes.core.context import Context

REGISTERED_BY = ("register_forward_hook", "register_forward_pre_hook")  # torch's functions that make the handle
_SEVERAL = 3  # hooks of one line on one module, registered in as many steps
_MOST = 10_000  # places that are remembered


class ForwardHooks:
    """What is hung where, by line and module."""

    def __init__(self, context: Context) -> None:
        self._steps, self._sink = context.steps, context.sink
        self._hanging: dict[tuple[int, int], dict[int, int]] = {}  # (stack, dict of hooks) -> step by key
        self._noticed: set[int] = set()

    def note(self, key: int, hooks: dict[int, Any], stack: int) -> None:
        """One is registered: it will be in the dict under this key."""
        if stack in self._noticed:
            return
        if len(self._hanging) >= _MOST:
            self._hanging.clear()
        hanging = self._hanging.setdefault((stack, id(hooks)), {})
        for gone in [one for one in list(hanging) if one not in hooks]:  # keys are never given again, ids of dicts are
            del hanging[gone]
        hanging[key] = self._steps.current
        if len(set(hanging.values())) >= _SEVERAL:
            self._noticed.add(stack)
            self._sink.add("notice", (FORWARD_HOOKS_PILE_UP, stack))
