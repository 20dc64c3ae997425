"""Random programs that build autograd graphs: ties, views, in-place edits, custom Functions, checkpoints."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.utils.checkpoint import checkpoint

Operation = Callable[[Any, Any], Any]


class Mixed(torch.autograd.Function):
    """Two inputs, two outputs; one of the outputs may stay unused."""

    @staticmethod
    def forward(ctx: Any, left: torch.Tensor, right: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return left + right, left - 2 * right

    @staticmethod
    def backward(ctx: Any, first: torch.Tensor, second: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return first + second, first - 2 * second


class Drop(torch.autograd.Function):
    """Passes no gradient on to its second input."""

    @staticmethod
    def forward(ctx: Any, left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
        return left * right

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None]:
        return gradient, None


apply: Callable[..., Any] = Mixed.apply
drop: Callable[..., Any] = Drop.apply


def edit_in_place(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """An in-place edit of a whole tensor: the history is rebased."""
    return left.clone().mul_(right)


def edit_view(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """An in-place edit of a view: CopySlices."""
    base = left.clone()
    base[1:3].mul_(right[:2])
    return base


def both_halves(left: torch.Tensor, right: torch.Tensor) -> Any:
    """Both outputs of a custom Function in use."""
    first, second = apply(left, right)
    return first * second


OPERATIONS: tuple[Operation, ...] = (
    lambda left, right: left + right,
    lambda left, right: left @ right,
    lambda left, right: torch.addmm(left[0], left, right),
    lambda left, right: torch.cat(left.split(2)[::-1]),
    lambda left, right: left.split(1)[2] + right,
    lambda left, right: torch.stack(left.unbind(), 1),
    lambda left, right: left.unbind(1)[0] * right,
    lambda left, right: left.sin(),
    lambda left, right: apply(left, right)[0],
    lambda left, right: left.detach() * right,
    both_halves,
    edit_in_place,
    edit_view,
    lambda left, right: checkpoint(edit_view, left, right, use_reentrant=False),
)


def reentrant(left: torch.Tensor, right: torch.Tensor) -> Any:
    """A nested backward inside the backward; torch forbids it with inputs= and autograd.grad."""
    return checkpoint(both_halves, left, right, use_reentrant=True)


def random_tensors(choose: random.Random, operations: tuple[Operation, ...], length: int = 30) -> list[torch.Tensor]:
    """Leaves first, then results, the later ones on top of the earlier ones; all of them need gradients."""
    pool = [torch.randn(4, 4, requires_grad=True) for _ in range(4)]
    for _ in range(length):
        pool.append(choose.choice(operations)(choose.choice(pool[-6:]), choose.choice(pool)).tanh())
    return pool


def make_ties(choose: random.Random, nodes: Sequence[Any]) -> None:
    """Give nodes few different sequence numbers, as graphs made by several threads have."""
    for node in nodes:
        node._set_sequence_nr(choose.randrange(4))
