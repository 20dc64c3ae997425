"""Tells where a custom Function may ask for the buffers of its inputs' gradients, from torch 2.15 on.

The surprise: torch hands none out under a dispatch mode, nor where Python has once looked at a gradient's storage, and
it refuses where the node has a hook that runs after it. All of that would be ours. A backward may ask where the name
stands anywhere in the modules that its code can reach.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

from gradscope.signals import let_through
from gradscope.torch_internals.find import there
from gradscope.torch_internals.parts import PARTS

_PART = "torch.autograd.function.FunctionCtx.input_grad_buffers"
_NAME = "input_grad_buffers"
_WITHOUT = frozenset((*sys.stdlib_module_names, "torch", "numpy", "gradscope"))  # whose code asks for none


def asks_for_buffers(node: Any) -> bool:
    """Whether a node is of a custom Function whose backward may ask for the buffers."""
    kind = type(node)
    known = _known.get(kind)
    if known is None:
        function = getattr(kind, "_forward_cls", None) if IS_THERE else None
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


IS_THERE = there(PARTS[_PART]) is not None
_known: dict[type, bool] = {}
