"""Which custom Function a frame stands for, with `Function.apply` in C++ (torch 2.14) as with it in Python."""

from __future__ import annotations

import gc
import sys
import weakref
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch.autograd import Function

from gradscope.torch_internals.function_calls import Application, AppliesInCpp

seen: list[Application | None] = []
CALLS = AppliesInCpp()  # stands on the frame of the forward, which every torch has


@pytest.fixture(autouse=True)
def watched() -> Iterator[None]:
    seen.clear()
    with CALLS.watched(lambda function, frame: None):
        yield


def look() -> None:
    """What the frame that calls this stands for."""
    seen.append(CALLS.of(sys._getframe(1)))


def enter() -> None:
    """As the first operator in a forward does."""
    CALLS.entered(sys._getframe(1))


class Shared(Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, factor: float, *rest: Any) -> torch.Tensor:
        look()
        return x * factor

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:
        return gradient, None, None


class SharesIt(Shared):
    """Has the same forward."""


class Renames(Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        enter()
        x = x * 2
        look()
        return x

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:
        return gradient * 2


class Apart(Function):
    """Its forward gets no ctx."""

    @staticmethod
    def forward(x: torch.Tensor, factor: float) -> torch.Tensor:
        look()
        return x * factor

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.factor = inputs[1]

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:
        return gradient * ctx.factor, None


def only() -> Application:
    (found,) = seen
    assert found is not None
    return found


def test_the_arguments_are_those_of_apply() -> None:
    x = torch.ones(2, requires_grad=True)
    Shared.apply(x, 2.0, "more", 3)
    assert only().function is Shared
    assert only().arguments[1:] == (2.0, "more", 3)


def test_a_forward_without_ctx_has_them_too() -> None:
    Apart.apply(torch.ones(2), 3.0)
    assert (only().function, only().arguments[1]) == (Apart, 3.0)


def test_classes_that_share_a_forward_are_told_apart() -> None:
    Shared.apply(torch.ones(2), 1.0)
    SharesIt.apply(torch.ones(2), 1.0)
    Shared.apply(torch.ones(2), 1.0)
    assert [one.function for one in seen if one] == [Shared, SharesIt, Shared]


def test_what_was_given_is_known_when_the_name_means_something_else() -> None:
    x = torch.ones(2, requires_grad=True)
    Renames.apply(x)
    assert only().given == {id(x)}


def test_other_frames_stand_for_none() -> None:
    look()
    assert seen == [None]


def test_no_tensor_lives_longer_for_it() -> None:
    x = torch.ones(2)
    gone = weakref.ref(x)
    Renames.apply(x)
    seen.clear()
    del x
    gc.collect()
    assert gone() is None
