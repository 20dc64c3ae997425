"""Keeps Dynamo away from our callbacks: without the mark it compiles them, guards on their dicts and crashes."""

from __future__ import annotations

from types import CodeType, FunctionType
from typing import Any


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
