"""A Function with its arguments, and what can be asked of it: outputs, gradients, differences.

Everything is in double precision where the Function takes it.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

STEP = 1e-6  # of central differences in double precision


class Trial:
    """One Function with its arguments."""

    def __init__(self, name: str, arguments: tuple[Any, ...], dtype: torch.dtype = torch.float64) -> None:
        module, _, short = name.rpartition(".")
        self.function = getattr(importlib.import_module(module), short)
        self.given = arguments
        self.dtype = dtype
        floating = [i for i, a in enumerate(arguments) if isinstance(a, Tensor) and a.is_floating_point()]
        self.places = [i for i in floating if arguments[i].requires_grad] or floating

    def arguments(self, grad: bool = True) -> list[Any]:
        """Fresh arguments."""
        made = [
            a.detach().clone(memory_format=torch.contiguous_format) if isinstance(a, Tensor) else a for a in self.given
        ]
        made = [a.to(self.dtype) if isinstance(a, Tensor) and a.is_floating_point() else a for a in made]
        for place in self.places if grad else ():
            made[place].requires_grad_()
        return made

    def run(self, arguments: list[Any]) -> list[Tensor]:
        """The outputs that carry a gradient, or all floating ones where none does."""
        torch.manual_seed(7)
        handed = [a * 1 if isinstance(a, Tensor) and a.requires_grad else a for a in arguments]
        outputs = self.function.apply(*handed)
        outputs = list(outputs) if isinstance(outputs, (tuple, list)) else [outputs]
        floating = [o for o in outputs if isinstance(o, Tensor) and o.is_floating_point()]
        followed = [o for o in floating if o.requires_grad]
        return followed or floating

    def weights(self, outputs: list[Tensor], number: int = 0) -> list[Tensor]:
        """Fixed weights for outputs."""
        generator = torch.Generator().manual_seed(11 + number)
        return [torch.rand(o.shape, generator=generator, dtype=torch.float64).to(o.dtype) + 0.1 for o in outputs]

    def gradient(self, inputs: list[Any], create_graph: bool = False) -> list[Tensor]:
        """The gradient of the weighed outputs, zeros where there is none."""
        outputs = self.run(inputs)
        total = sum(((o * w).sum() for o, w in zip(outputs, self.weights(outputs), strict=True)), torch.zeros(()))
        wanted = [inputs[place] for place in self.places]
        found = torch.autograd.grad(total, wanted, create_graph=create_graph, allow_unused=True)
        return [torch.zeros_like(x) if g is None else g for x, g in zip(wanted, found, strict=True)]

    def value(self, inputs: list[Any]) -> float:
        """The weighed outputs as a number; those that carry a gradient when there is one."""
        followed = inputs
        outputs = self.run(followed)
        return float(sum((o.detach() * w).sum() for o, w in zip(outputs, self.weights(outputs), strict=True)))

    def slopes(self, of: Callable[[list[Any]], float], step: float) -> list[Tensor]:
        """How a number changes with each element of each input."""
        found = []
        for place in self.places:
            size = self.given[place].numel()
            slope = torch.zeros(size, dtype=torch.float64)
            for element in range(size):
                sides = []
                for sign in (1, -1):
                    moved = self.arguments()
                    with torch.no_grad():
                        moved[place].view(-1)[element] += sign * step
                    sides.append(of(moved))
                slope[element] = (sides[0] - sides[1]) / (2 * step)
            found.append(slope.reshape(self.given[place].shape))
        return found


def prepared(name: str, arguments: tuple[Any, ...]) -> tuple[Trial, dict[str, Any]]:
    """The trial in double precision, or in single where forward or backward takes no other."""
    trial = Trial(name, arguments)
    try:
        outputs = trial.run(trial.arguments())
        trial.gradient(trial.arguments())
        narrow = any(o.dtype is not torch.float64 for o in outputs)
    except Exception:
        narrow = True
    if narrow:
        trial = Trial(name, arguments, torch.float32)
    return trial, {"precision": "single" if narrow else "double"}


def tensors_of(value: Any) -> list[Tensor]:
    """The floating tensors of an output."""
    values = value if isinstance(value, (tuple, list)) else [value]
    return [one for one in values if isinstance(one, Tensor) and one.is_floating_point()]


def total_of(value: Any) -> Tensor:
    """The sum of an output."""
    return sum((one.sum() for one in tensors_of(value)), torch.zeros(()))
