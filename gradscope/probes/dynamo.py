"""Keeps the compilers away from our callbacks: without a mark Dynamo compiles them, guards on their dicts and crashes.

What a compiler traces has symbolic shapes; comparing one would make it a constant, and cost a recompilation.
"""

from __future__ import annotations

import sys
from types import CodeType, FunctionType
from typing import Any

import torch

_FAKE = torch._C._TorchDispatchModeKey.FAKE
_PROXY = torch._C._TorchDispatchModeKey.PROXY


def skip(*functions: Any) -> None:
    """Mark functions, and the comprehensions inside them, as code that Dynamo must leave alone (torch >= 2.7)."""
    from torch._C._dynamo import eval_frame

    strategy = eval_frame._FrameExecStrategy(eval_frame._FrameAction.SKIP, eval_frame._FrameAction.SKIP)
    for function in functions:
        code = function.__code__ if isinstance(function, FunctionType) else function
        eval_frame.set_code_exec_strategy(code, strategy)
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                eval_frame.set_code_exec_strategy(constant, strategy)


def skip_methods(cls: type) -> None:
    """Mark every plain method of a class."""
    skip(*(value for value in vars(cls).values() if isinstance(value, FunctionType)))


def is_traced() -> bool:
    """Whether a compiler is tracing, or something else runs with symbolic shapes."""
    if torch._guards.TracingContext.try_get() is not None:
        return True
    mode = torch._C._get_dispatch_mode(_FAKE)
    return mode is not None and mode.shape_env is not None


def is_taken_down() -> bool:
    """Whether make_fx takes down every operator that runs: one of ours would stand in the program's graph."""
    return torch._C._get_dispatch_mode(_PROXY) is not None


def is_compiled() -> bool:
    """Whether compiled autograd takes the next run of the engine."""
    module: Any = sys.modules.get("torch._dynamo.compiled_autograd")
    return module is not None and (module.compiled_autograd_enabled or module.compiled_autograd_enabled_force_eager)
