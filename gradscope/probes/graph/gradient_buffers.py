"""Steps aside where a custom Function may ask for the buffers of its inputs' gradients, from torch 2.15 on.

The surprise: torch hands none out under a dispatch mode, nor where Python has once looked at a gradient's storage, and
it refuses where the node has a hook that runs after it. All of that would be ours. A backward may ask where the name
stands anywhere in the modules that its code can reach.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

from gradscope.probes.core.backward_call import BackwardCall
from gradscope.probes.core.probe import Watcher
from gradscope.probes.core.sink import Sink
from gradscope.probes.core.thread_state import Thread
from gradscope.signals import let_through
from gradscope.torch_internals.find import there
from gradscope.torch_internals.parts import PARTS

_PART = "torch.autograd.function.FunctionCtx.input_grad_buffers"
_NAME = "input_grad_buffers"
_WITHOUT = frozenset((*sys.stdlib_module_names, "torch", "numpy", "gradscope"))  # whose code asks for none
_DROPPED = "backward calls that ask for gradient buffers: their operators were not watched"


class GradientBuffers(Watcher):
    """Takes our dispatch mode off for such calls: `pause` answers whether it could, `resume` undoes it."""

    probe = "gradient buffers"

    def __init__(self, sink: Sink, pause: Callable[[], bool], resume: Callable[[], None]) -> None:
        self._sink, self._pause, self._resume = sink, pause, resume
        self._paused: int | None = None  # the call for which

    def before(self, call: BackwardCall, thread: Thread) -> None:
        """Step aside, if any node may ask."""
        if _IS_THERE and self._paused is None and any(asks_for_buffers(node) for node in call.live) and self._pause():
            self._paused = call.number
            self._sink.drop(_DROPPED)

    def forget(self, call: BackwardCall) -> None:
        """Come back."""
        if self._paused == call.number:
            self._paused = None
            self._resume()


def asks_for_buffers(node: Any) -> bool:
    """Whether a node is of a custom Function whose backward may ask for the buffers."""
    kind = type(node)
    known = _known.get(kind)
    if known is None:
        function = getattr(kind, "_forward_cls", None) if _IS_THERE else None
        known = _known[kind] = function is not None and _may_ask(function)
    return known


def _may_ask(function: Any) -> bool:
    """Whether the name stands in any module that the code of a custom Function reaches, by what the modules import."""
    waiting = [cls.__module__ for cls in function.__mro__]
    seen: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name in seen or name.partition(".")[0] in _WITHOUT:
            continue
        seen.add(name)
        module = sys.modules.get(name)
        if module is not None:
            if _mentions(module):
                return True
            waiting += _reached(module)
    return False


def _reached(module: ModuleType) -> Iterator[str]:
    """The modules of what a module has in its namespace."""
    for value in list(vars(module).values()):
        if isinstance(value, ModuleType):
            yield value.__name__
        elif isinstance(value, (type, FunctionType)):
            yield value.__module__ or ""


def _mentions(module: ModuleType) -> bool:
    """Whether the name is in a module's file, or where it has none (a notebook, `python -c`) in its code."""
    path: Any = vars(module).get("__file__")
    try:
        return _NAME.encode() in Path(path).read_bytes()
    except (OSError, TypeError, ValueError) as error:
        let_through(error)
    values = list(vars(module).values())
    methods = [one for value in values if isinstance(value, type) for one in vars(value).values()]
    codes = [getattr(getattr(one, "__func__", one), "__code__", None) for one in (*values, *methods)]
    return any(_NAME in _names_in(code) for code in codes if isinstance(code, CodeType))


def _names_in(code: CodeType) -> str:
    """The names in a code object and in those inside it, texts as well: `getattr` takes one."""
    texts = [one for one in code.co_consts if isinstance(one, str)]
    inner = [_names_in(one) for one in code.co_consts if isinstance(one, CodeType)]
    return " ".join((*code.co_names, *texts, *inner))


_IS_THERE = there(PARTS[_PART]) is not None
_known: dict[type, bool] = {}
