"""Sees module calls. Global module hooks would do, but they send torch down its slow path and add a frame to every
traceback; instead `Module.__call__` gets a code object with the same lines and columns, and two calls around it.
"""

from __future__ import annotations

import itertools
import sys
import weakref
from collections import Counter
from types import FunctionType

import torch
from torch.nn.modules import module as torch_module

from gradscope.probes.faults import Faults
from gradscope.probes.names import Names
from gradscope.probes.sink import Sink
from gradscope.probes.stacks import Stacks
from gradscope.probes.threads import Threads
from gradscope.torch_internals.dynamo import skip_methods
from gradscope.torch_internals.find import bound
from gradscope.torch_internals.module_call import call_instruction, instrumented

_ENTER, _LEAVE, _CALL = "_gradscope_enter", "_gradscope_leave", "_gradscope_call"


class Call:
    """One running or finished module call: plain data, kept alive by the nodes that were made in it."""

    __slots__ = ("base", "children", "module", "module_class", "parent", "path", "place", "position", "root", "serial")

    def __init__(
        self,
        path: str,
        module_class: str,
        parent: Call | None,
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


class Modules:
    """Keeps `Thread.call` and `Thread.base` while modules run."""

    def __init__(self, threads: Threads, stacks: Stacks, names: Names, faults: Faults) -> None:
        self._threads, self._stacks, self._names, self._faults = threads, stacks, names, faults
        self._serials, self._modules = itertools.count(1), itertools.count(1)
        self._places: dict[tuple[int, str, str, int], int] = {}
        self._insides: dict[int, int] = {}  # the base behind a call, by the stack of its caller
        self._known: dict[int, Known] = {}
        self._target: FunctionType = bound("torch.nn.Module._wrapped_call_impl")
        self._code = self._original = self._target.__code__
        self._place = call_instruction(self._original)
        faults.switch("modules", self._switch_off)

    def __enter__(self) -> Modules:
        skip_methods(Modules)
        setattr(torch_module, _ENTER, self.enter)
        setattr(torch_module, _LEAVE, self.leave)
        try:
            self._code = instrumented(self._target, _ENTER, _LEAVE, _CALL)
        except (OSError, SyntaxError, LookupError) as error:  # torch without its sources: no module calls then
            self._faults.note("modules", error)
        else:
            self._target.__code__ = self._code
            self._stacks.anchors.add(id(self._code))
        return self

    def __exit__(self, *error: object) -> None:
        self._target.__code__ = self._original
        delattr(torch_module, _ENTER)
        delattr(torch_module, _LEAVE)

    def enter(self, module: torch.nn.Module) -> Call | None:
        """A module is about to run. Returns what `leave` needs, None after a fault."""
        thread = self._threads.current
        try:
            outer, base = thread.call, thread.base
            known = self._describe(module, outer)
            path, module_class = ("" if outer is None else known.inner or ""), known.module_class
            stack = self._stacks.take(sys._getframe(2), base)
            inside = self._insides.get(stack) or self._inside(stack)
            if outer is None:
                position = thread.roots
                thread.roots += 1
            else:
                position = outer.children
                outer.children += 1
            key = (0, path, module_class, 0) if outer is None else (outer.place, path, module_class, position)
            place = self._places.setdefault(key, len(self._places) + 1)
            call = Call(path, module_class, outer, position, next(self._serials), base, place, known.number)
            thread.base, thread.call = inside, call  # last and together: a signal handler may raise before, not between
            return call
        except Exception as error:
            self._faults.note("modules", error)
            return None

    def leave(self, call: Call | None) -> None:
        """A module has returned or raised: back to where it was called, even where one inside it was not left."""
        if call is not None:
            thread = self._threads.current
            thread.base, thread.call = call.base, call.parent

    def _inside(self, stack: int) -> int:
        inside = self._insides[stack] = self._stacks.push(stack, self._original, self._place)
        return inside

    def _switch_off(self) -> None:
        self._target.__code__ = self._original

    def _describe(self, module: torch.nn.Module, outer: Call | None) -> Known:
        known = self._known.get(id(module))
        if known is None or known.module() is not module:
            known = self._known[id(module)] = Known(module, next(self._modules))
        if outer is None:
            if known.root is None:
                self._names.learn(module)
                known.root = ""
        elif known.inner is None:  # one that is not registered under the module that runs is named by that module
            known.inner = self._names.path(module) or f"{outer.path}.{known.module_class}".lstrip(".")
        return known


class Known:
    """What is known of a module: its number, its class, its path as an outermost and as an inner module."""

    __slots__ = ("inner", "module", "module_class", "number", "root")

    def __init__(self, module: torch.nn.Module, number: int) -> None:
        self.module = weakref.ref(module)
        self.number = number
        self.module_class = type(module).__name__
        self.root: str | None = None
        self.inner: str | None = None


class Calls:
    """Interns the module calls of one graph or block, so that the same step gives the same ids.

    Outermost calls are renumbered in the order of their first appearance in time, and a module that is called
    several times gets ordinals.
    """

    def __init__(self, sink: Sink) -> None:
        self._sink = sink

    def ids(self, calls: dict[int, Call]) -> dict[int, int]:
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

    def _intern(self, ordered: list[Call], totals: Counter[int]) -> dict[int, int]:
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
