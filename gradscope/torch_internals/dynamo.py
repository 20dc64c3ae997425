"""Keeps the compilers away from our callbacks: without a mark Dynamo compiles them, guards on their dicts and crashes.

What a compiler traces has symbolic shapes; comparing one would make it a constant, and cost a recompilation.
"""

from __future__ import annotations

import sys
from types import CodeType, FunctionType
from typing import Any

from gradscope.torch_internals.find import bound

_MARKS = "torch._C._dynamo.eval_frame.set_code_exec_strategy"  # torch 2.7; skip_code before
_mark: Any = bound(_MARKS, None)
_tracing: Any = bound("torch._guards.TracingContext.try_get", lambda: None)
_mode_of: Any = bound("torch._C._get_dispatch_mode", lambda key: None)
_FAKE = bound("torch._C._TorchDispatchModeKey.FAKE", None)
_PROXY = bound("torch._C._TorchDispatchModeKey.PROXY", None)


def _marking() -> Any:
    """What marks a code object as one to leave alone, None where this torch has no such mark."""
    if _mark is None or _mark.__name__ == "skip_code":
        return _mark
    from torch._C._dynamo import eval_frame

    strategy = eval_frame._FrameExecStrategy(eval_frame._FrameAction.SKIP, eval_frame._FrameAction.SKIP)
    return lambda code: _mark(code, strategy)


_leave_alone = _marking()


def skip(*functions: Any) -> None:
    """Mark functions, and the comprehensions inside them, as code that Dynamo must leave alone."""
    if _leave_alone is None:
        return
    for function in functions:
        code = function.__code__ if isinstance(function, FunctionType) else function
        _leave_alone(code)
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                _leave_alone(constant)


def skip_methods(cls: type) -> None:
    """Mark every plain method of a class."""
    skip(*(value for value in vars(cls).values() if isinstance(value, FunctionType)))


def is_traced() -> bool:
    """Whether a compiler is tracing, or something else runs with symbolic shapes."""
    if _tracing() is not None:
        return True
    mode = None if _FAKE is None else _mode_of(_FAKE)
    return mode is not None and mode.shape_env is not None


def is_taken_down() -> bool:
    """Whether make_fx takes down every operator that runs: one of ours would stand in the program's graph."""
    return _PROXY is not None and _mode_of(_PROXY) is not None


def is_compiled() -> bool:
    """Whether compiled autograd takes the next run of the engine."""
    module: Any = sys.modules.get("torch._dynamo.compiled_autograd")
    return module is not None and bool(
        getattr(module, "compiled_autograd_enabled", False)
        or getattr(module, "compiled_autograd_enabled_force_eager", False)
    )


def has_compiled() -> bool:
    """Whether anything was given to torch.compile, which compiles again for a thread with other dispatch keys."""
    module: Any = sys.modules.get("torch._dynamo.eval_frame")
    return module is not None and any(getattr(module, "cached_backends", {}).values())


def body_of(operator: Any) -> Any:
    """What runs an operator with a frame of Python less, where it has such a thing."""
    return getattr(operator, "_op", operator) if type(operator) is _OVERLOAD else operator


def is_operator(thing: Any) -> bool:
    """Whether it is an operator of torch's dispatcher, not a higher-order one."""
    return type(thing) is _OVERLOAD


_OVERLOAD: Any = bound("torch._ops.OpOverload", None)
