"""What one parameter may be, the likeliest first: values seen at call sites, then what its clue and name suggest."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from gradscope.functions.inputs.build import make_tensor
from gradscope.functions.inputs.call_sites import NO_TENSOR, Unknown
from gradscope.functions.inputs.clues import Clue, Kind
from gradscope.functions.inputs.spec import TensorSpec

CALLABLE_NAMES = frozenset(("fn", "func", "function", "f", "closure", "callback", "module"))
INDEX_NAMES = frozenset(
    ("idx", "index", "indices", "indexes", "target", "targets", "label", "labels", "ids", "segment")
)
MASK_NAMES = frozenset(("mask", "masks", "keep", "where", "cond", "condition"))
NUMBERS: tuple[tuple[frozenset[str], tuple[Any, ...]], ...] = (
    (frozenset(("dim", "axis", "dims")), (-1, 0, 1)),
    (frozenset(("eps", "epsilon")), (1e-5,)),
    (frozenset(("tol", "atol", "rtol", "tolerance")), (1e-9,)),
    (frozenset(("iter", "iters", "iterations", "niter", "maxiter", "itr")), (50,)),
    (frozenset(("shape", "size", "sizes")), ((3, 4), 4)),
    (frozenset(("bit", "bits", "bitwidth", "nbits")), (4, 8, 2)),
    (frozenset(("n", "k", "num", "steps", "groups", "stride", "kernel", "heads", "chunks", "levels")), (2, 1, 4)),
    (frozenset(("training", "inplace", "reduce", "mean", "causal", "keepdim", "flag", "bias")), (False, True)),
    (frozenset(("min", "low", "lower")), (-0.5, 0.1)),
    (frozenset(("max", "high", "upper")), (0.5, 1.0)),
    (frozenset(("mode", "reduction")), ("mean", "sum", "none")),
    (frozenset(("group",)), (None,)),
)
USUAL: dict[Kind, tuple[Any, ...]] = {
    Kind.NUMBER: (0.5, 2.0, 1.0),
    Kind.WHOLE: (2, 1, 4, -1),
    Kind.FLAG: (False, True),
    Kind.CALLABLE: (),  # any that could be made up would say more of itself than of the Function
}


def options(
    clue: Clue, seen: tuple[Any, ...], shape: tuple[int, ...], first: bool, positive: bool, generator: torch.Generator
) -> list[Any]:
    """The values to try for one parameter beside tensors of one shape; `first` tells the first parameter."""
    known = [make_tensor(v, generator) if isinstance(v, TensorSpec) else v for v in seen if not isinstance(v, Unknown)]
    default = clue.parameter.default
    if default is not clue.parameter.empty:
        return [*known, default]
    kind = kind_by_name(clue)
    if kind is Kind.MASK:
        tensor = random_tensor(shape, positive, generator)
        return [*known, tensor > tensor.mean()]
    if kind is Kind.INDEX:
        indices = [torch.randint(0, 2, size, generator=generator) for size in (shape[:1], shape)]
        return [*known, *indices, 1]
    tensors = [random_tensor(size, positive, generator) for size in sizes(shape, first)]
    if seen and all(value is NO_TENSOR for value in seen):
        tensors = []
    numbers = [*clue.values, *numbers_by_name(clue)]
    if kind in USUAL:
        return [*known, *numbers, *USUAL[kind]]
    if kind is Kind.TENSOR or clue.gradient:
        return [*known, *tensors, *(numbers or ((2, 0.5) if kind is Kind.UNKNOWN else ()))]
    return [*known, *(numbers or (0.5, 2)), *tensors, torch.randint(0, 2, shape[:1], generator=generator)]


def kind_by_name(clue: Clue) -> Kind:
    """The clue's kind, where its name does not say more of a tensor without a gradient."""
    if clue.kind not in (Kind.TENSOR, Kind.UNKNOWN):
        return clue.kind
    words = words_of(clue)
    if words & CALLABLE_NAMES and clue.kind is Kind.UNKNOWN:
        return Kind.CALLABLE
    if words & MASK_NAMES:
        return Kind.MASK
    return Kind.INDEX if words & INDEX_NAMES and not (clue.gradient and clue.kind is Kind.TENSOR) else clue.kind


def numbers_by_name(clue: Clue) -> tuple[Any, ...]:
    """What a parameter of this name usually is, if it is a number."""
    return next((values for names, values in NUMBERS if words_of(clue) & names), ())


def words_of(clue: Clue) -> set[str]:
    """The words of a parameter's name."""
    name = clue.parameter.name.lower().strip("_")
    return {*name.split("_"), name}


def sizes(shape: tuple[int, ...], first: bool) -> list[tuple[int, ...]]:
    """The sizes of a tensor beside a first one of this shape: the same, a vector along its last side, a square."""
    last = shape[-1] if shape else 4
    return [shape] if first else list(dict.fromkeys((shape, shape[-1:], (last, last))))


def random_tensor(shape: tuple[int, ...], positive: bool, generator: torch.Generator) -> Tensor:
    """Values away from zero, where many formulas have kinks."""
    values = torch.rand(shape, generator=generator) + 0.3
    if positive:
        return values
    return values * (torch.randint(0, 2, shape, generator=generator) * 2 - 1)
