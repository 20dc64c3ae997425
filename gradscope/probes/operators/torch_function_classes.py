"""Tensor classes of the program with a `__torch_function__` of their own.

The surprise: below autograd torch does not ask them, but any function that we call there from Python does: an operator
that is passed on, the look at a version. Asking classes at every operator would cost every program.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch

from gradscope.torch_internals.dynamo import skip
from gradscope.torch_internals.guards import no_function_of_classes
from gradscope.torch_internals.tensors import NO_FUNCTION_OF_ITS_OWN


def is_there_one() -> bool:
    """Whether the program has such a class; torch's own know what they are given."""
    return any(
        one.__torch_function__ is not NO_FUNCTION_OF_ITS_OWN and one.__module__.partition(".")[0] != "torch"
        for one in _below(torch.Tensor)
    )


def unseen(run: Callable[..., Any]) -> Callable[..., Any]:
    """A function that runs without these classes being asked."""

    def run_unseen(*arguments: Any, **keywords: Any) -> Any:
        with no_function_of_classes():
            return run(*arguments, **keywords)

    skip(run_unseen)
    return run_unseen


def _below(one: Any) -> Iterator[Any]:
    for below in one.__subclasses__():
        yield below
        yield from _below(below)
