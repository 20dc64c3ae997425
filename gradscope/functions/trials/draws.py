"""Random numbers held still: every draw gives one constant, whatever its shape.

A loop over a batch and one batch draw other random numbers even from the same state, so their values say nothing
about each other. With constant draws they must agree. It works below torch.func's levels, where tensors are plain.
"""

from __future__ import annotations

import random
import sys
from typing import Any

import torch
from torch import Tensor

from gradscope.functions.seeding import seed_torch
from gradscope.torch_internals.find import bound

_MODE: Any = bound("torch.utils._python_dispatch.TorchDispatchMode", object)

CONSTANTS = (0.73, 0.27)  # possible outcomes of uniform and normal draws; a threshold between them lets one through


class ConstantDraws(_MODE):  # type: ignore[misc]  # whatever class this torch has
    """Inside, torch's random operators give one constant."""

    def __init__(self, constant: float) -> None:
        super().__init__()
        self.constant = constant

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run the operator, and overwrite what it drew."""
        result = function(*args, **(kwargs or {}))
        if torch.Tag.nondeterministic_seeded not in function.tags:
            return result
        if function.overloadpacket is torch.ops.aten.native_dropout:
            return args[0] / (1 - args[1]), torch.ones_like(result[1])
        if function.overloadpacket is torch.ops.aten.randperm:
            return torch.arange(result.numel(), dtype=result.dtype, device=result.device)
        coin = function.overloadpacket in (torch.ops.aten.bernoulli, torch.ops.aten.bernoulli_)
        return overwritten(result, 1.0 if coin else self.constant) if isinstance(result, Tensor) else result


def overwritten(drawn: Tensor, constant: float) -> Tensor:
    """A draw made constant: the number itself, True, or 0 for what may be an index."""
    if drawn.dtype is torch.bool:
        return drawn.fill_(True)
    return drawn.fill_(constant if drawn.is_floating_point() or drawn.is_complex() else 0)


def states(device: str) -> tuple[list[Tensor], Any]:
    """The states of torch's generators, and of Python's and numpy's: whoever draws changes one of them."""
    numpy = sys.modules.get("numpy")
    foreign = (random.getstate(), numpy.random.get_state()[1].tobytes() if numpy else b"")
    own: Any = torch.get_device_module(device) if torch.device(device).type != "cpu" else torch
    return [torch.get_rng_state(), own.get_rng_state()], foreign


def seed(number: int) -> None:
    """One random state for torch, Python and numpy."""
    seed_torch(number)
    random.seed(number)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(number)
