"""Steps aside where a custom Function may ask for the buffers of its inputs' gradients, from torch 2.15 on.

The surprise: torch hands none out under a dispatch mode, nor where Python has once looked at a gradient's storage, and
it refuses where the node has a hook that runs after it. All of that would be ours. Which backwards ask is read off
their code and that of the functions which they name.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any

from gradscope.probes.engine import Call, Watcher
from gradscope.probes.sink import Sink
from gradscope.probes.threads import Thread
from gradscope.signals import attribute
from gradscope.torch_internals.find import there
from gradscope.torch_internals.parts import PARTS

_PART = "torch.autograd.function.FunctionCtx.input_grad_buffers"
_NAMES = frozenset(("input_grad_buffers", "_input_grad_buffers"))
_MOST = 64  # functions that are read for one backward
_DROPPED = "backward calls that ask for gradient buffers: their operators were not watched"


class GradientBuffers(Watcher):
    """Takes our dispatch mode off for such calls: `pause` answers whether it could, `resume` undoes it."""

    probe = "gradient buffers"

    def __init__(self, sink: Sink, pause: Callable[[], bool], resume: Callable[[], None]) -> None:
        self._sink, self._pause, self._resume = sink, pause, resume
        self._paused: int | None = None  # the call for which

    def before(self, call: Call, thread: Thread) -> None:
        """Step aside, if any node may ask."""
        if _IS_THERE and self._paused is None and any(asks_for_buffers(node) for node in call.live) and self._pause():
            self._paused = call.number
            self._sink.drop(_DROPPED)

    def forget(self, call: Call) -> None:
        """Come back."""
        if self._paused == call.number:
            self._paused = None
            self._resume()


def asks_for_buffers(node: Any) -> bool:
    """Whether a node is of a custom Function whose backward may ask for the buffers."""
    function = getattr(type(node), "_forward_cls", None) if _IS_THERE else None
    if function is None or function.__module__.partition(".")[0] == "torch":
        return False
    known = _known.get(function)
    if known is None:
        known = _known[function] = _is_named(function)
    return known


def _is_named(function: Any) -> bool:
    waiting: list[Any] = [attribute(function, name) for name in ("backward", "vjp")]
    seen: set[int] = set()
    while waiting and len(seen) < _MOST:
        one: Any = inspect.unwrap(waiting.pop())
        code = getattr(one, "__code__", None)
        if code is None or id(code) in seen:
            continue
        seen.add(id(code))
        names = _names_in(code)
        if _NAMES & names:
            return True
        reachable = {**getattr(one, "__globals__", {}), **vars(function)}
        waiting += [getattr(it, "__func__", it) for it in map(reachable.get, names) if _is_the_programs(it)]
    return False


def _is_the_programs(thing: Any) -> bool:
    function = getattr(thing, "__func__", thing)
    return isinstance(function, FunctionType) and not (function.__module__ or "").startswith("torch")


def _names_in(code: CodeType) -> set[str]:
    """The names in a code object and in those inside it, texts as well: `getattr` takes one."""
    found = {*code.co_names, *(one for one in code.co_consts if isinstance(one, str))}
    return found.union(*(_names_in(one) for one in code.co_consts if isinstance(one, CodeType)))


_IS_THERE = there(PARTS[_PART]) is not None
_known: dict[Any, bool] = {}
