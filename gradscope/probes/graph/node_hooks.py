"""Puts a hook of ours before and after each node of a backward, at a fraction of torch's price.

The surprise: torch asks a function written in Python to enter each hook in a dict, and makes a handle with weak
references for it. A dict and a hook more for each node of each step would also wake the garbage collector, which then
walks all that the program holds. So hooks and their dicts are used again from one backward to the next.
"""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import partial
from types import FunctionType
from typing import Any

import torch

from gradscope.signals import attribute
from gradscope.torch_internals.dynamo import skip

_KEPT = 2048  # nodes whose hooks are used again


class NodeHook(partial[None]):
    """A hook of ours. `own` is the dict that it brings along, `placed` the one where it is, or torch's handle."""

    __slots__ = ("own", "placed")

    own: OrderedDict[Any, Any]
    placed: Any

    def take_away(self) -> None:
        """Leave the node; again does nothing."""
        placed, self.placed = self.placed, None
        if type(placed) is OrderedDict:
            placed.pop(self, None)
        elif placed is not None:
            placed.remove()

    def bring(self) -> OrderedDict[Any, Any]:
        """A dict that no node has, nor a hook of the program is in."""
        if self.own or sys.getrefcount(self.own) != _NOBODYS:
            self.own = OrderedDict()
        return self.own


class HookSet:
    """The hooks of one backward: `enter` and `leave` are called with the set and the number of a node."""

    def __init__(self, enter: Callable[..., None], leave: Callable[..., None]) -> None:
        self._enter, self._leave = enter, leave
        self._before: list[NodeHook] = []
        self._after: list[NodeHook] = []
        self._used = 0  # the first ones are on nodes
        self.run: Any = None  # whose they are

    def place(self, run: Any, nodes: Sequence[Any]) -> None:
        """Put them on."""
        for number in range(len(self._before), len(nodes)):
            self._before.append(_hook(self._enter, self, number))
            self._after.append(_hook(self._leave, self, number))
        self.run, self._used = run, len(nodes)
        with _ENTERING:
            for node, before, after in zip(nodes, self._before, self._after, strict=False):
                before.placed = node.register_prehook(before)
                after.placed = node.register_hook(after)

    def take_away(self) -> None:
        """Take them off. What one large graph needed beyond the usual is not kept, nor looked at by each small one."""
        self.run = None
        for before, after in zip(self._before[: self._used], self._after, strict=False):
            before.take_away()
            after.take_away()
        del self._before[_KEPT:], self._after[_KEPT:]


class Entering:
    """While hooks of ours are placed, torch's function that enters a hook in a dict has a code that answers for them.

    Only its code: a function of ours around it would be one frame more where the program registers hooks.
    """

    def __init__(self) -> None:
        self._function = attribute(attribute(torch.autograd.function, "_HookMixin"), "_register_hook")
        if isinstance(self._function, FunctionType):  # else torch's own way does as well
            self._torchs = self._function.__code__, self._function.__defaults__
            self._original = FunctionType(self._torchs[0], self._function.__globals__)
            skip(_register)

    def __enter__(self) -> None:
        if isinstance(self._function, FunctionType):
            self._function.__defaults__ = (NodeHook, self._original)
            self._function.__code__ = _register.__code__

    def __exit__(self, *error: object) -> None:
        if isinstance(self._function, FunctionType):
            self._function.__code__, self._function.__defaults__ = self._torchs


def _hook(function: Callable[..., None], *arguments: Any) -> NodeHook:
    hook = NodeHook(function, *arguments)
    hook.own, hook.placed = OrderedDict(), None
    return hook


_BLANK = _hook(print)
_NOBODYS = sys.getrefcount(_BLANK.own)  # of a dict that only its hook holds, as `bring` counts


def _register(hooks: Any, hook: Any, ours: Any = None, original: Any = None) -> Any:
    """Torch's function gives the dict, and a handle: for a hook of ours the dict is both. Runs with torch's globals."""
    if type(hook) is not ours:
        return original(hooks, hook)  # another thread's
    if hooks is None:
        hooks = hook.bring()
    hook.placed = hooks  # before it is: a signal handler may raise in between
    hooks[hook] = hook
    return hooks, hooks


_ENTERING = Entering()  # one for all: it must know torch's own code
