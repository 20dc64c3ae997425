"""What is known of a module call, and how the calls of one graph or block are interned."""

from __future__ import annotations

from collections import Counter

from gradscope.probes.core.sink import Sink


class RunningModuleCall:
    """One running or finished module call: plain data, kept alive by the nodes that were made in it."""

    __slots__ = ("base", "children", "module", "module_class", "parent", "path", "place", "position", "root", "serial")

    def __init__(
        self,
        path: str,
        module_class: str,
        parent: RunningModuleCall | None,
        position: int,
        serial: int,
        base: int,
        place: int,
        module: int,
    ) -> None:
        self.path = path
        self.module_class = module_class
        self.parent = parent
        self.position = position
        self.serial = serial
        self.base = base  # the stack base to go back to
        self.module = module  # its number: several calls of one module are counted
        self.place = place  # the same for calls of the same modules in the same places
        self.root: int = serial if parent is None else parent.root  # the outermost call around this one
        self.children = 0


class InternedCalls:
    """Interns the module calls of one graph or block, so that the same step gives the same ids.

    Outermost calls are renumbered in the order of their first appearance in time, and a module that is called
    several times gets ordinals.
    """

    def __init__(self, sink: Sink) -> None:
        self._sink = sink

    def ids(self, calls: dict[int, RunningModuleCall]) -> dict[int, int]:
        """The interned id of each call, by serial number. `calls` maps serial numbers to calls."""
        if not calls:
            return {}
        every = dict(calls)
        for call in calls.values():
            outer = call.parent
            while outer is not None and outer.serial not in every:
                every[outer.serial] = outer
                outer = outer.parent
        ordered = [every[serial] for serial in sorted(every)]
        totals = Counter(call.module for call in ordered)
        return self._intern(ordered, totals)

    def _intern(self, ordered: list[RunningModuleCall], totals: Counter[int]) -> dict[int, int]:
        ids: dict[int, int] = {}
        seen: Counter[int] = Counter()
        roots = 0
        for call in ordered:  # a caller's serial is smaller than its callees'
            seen[call.module] += 1
            ordinal, ordinals = seen[call.module], totals[call.module]
            position = call.position
            if call.parent is None:
                position, roots = roots, roots + 1
            caller = 0 if call.parent is None else ids[call.parent.serial]
            ids[call.serial] = self._sink.call(caller, call.path, call.module_class, position, ordinal, ordinals)
        return ids
