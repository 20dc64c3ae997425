"""Which kinds go by numbers that tensors hold, as the code of their questions says: these may differ on a device."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from itertools import chain
from types import CodeType, FunctionType
from typing import Any

from gradscope.explain.findings.table import TABLE

VALUES = frozenset(
    ("arrivals", "births", "leaf_gradients", "leaps", "losses", "node_sizes", "optimizer_looks", "sizes", "updates")
)  # of a case: what is read from the memory of tensors
_OURS = "gradscope.explain"


def kinds_that_read(values: frozenset[str] = VALUES) -> frozenset[str]:
    """The codes of the kinds whose questions, or what these call, ask a case for such values."""
    return frozenset(kind.code for kind in TABLE if _reads(kind.question, values))


def _reads(question: Callable[..., Any], values: frozenset[str]) -> bool:
    seen: set[FunctionType] = set()
    following = [question]
    while following:
        function = inspect.unwrap(following.pop())
        if not isinstance(function, FunctionType) or function in seen or not function.__module__.startswith(_OURS):
            continue
        seen.add(function)
        names = set(_names(function.__code__))
        if names & values:
            return True
        following += [function.__globals__[name] for name in names & function.__globals__.keys()]
    return False


def _names(code: CodeType) -> Iterator[str]:
    inner = (_names(one) for one in code.co_consts if isinstance(one, CodeType))
    return chain(code.co_names, *inner)
