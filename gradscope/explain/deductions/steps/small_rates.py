"""Optimizers whose rate is so small that a model which begins with random weights ends with them."""

from __future__ import annotations

import ast
import math

from gradscope.explain.deductions.numbers.weight_growth import samples_of
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.syntax import syntax
from gradscope.functions.source import called_name
from gradscope.model.size import LeafSize

_STEPS = 64  # fewer may be the beginning of a run
_MOVED = 1e-2  # of a weight's size, by all steps together
_MOMENTUM = 10.0  # times a gradient, that a step is at most
_LOADS = ("load_state_dict", "from_pretrained", "load_from_checkpoint", "load_model")  # what is trained moves little


def is_too_small(case: Case, rate: float, steps: int) -> bool:
    """Whether so many steps at most at this rate leave all weights as they began, whatever rule the optimizer follows,
    in a program that loads none."""
    samples = samples_of(case)
    if steps < _STEPS or not samples or any(True for _ in syntax(case).everywhere(_loads)):
        return False
    begun = [size for size in samples[0].values() if size.weight > 0]
    largest: dict[str, float] = {}
    for sample in samples:
        for name, size in sample.items():
            largest[name] = max(largest.get(name, 0.0), size.gradient)
    return bool(begun) and all(rate * steps * _a_step(size, largest[size.leaf]) < _MOVED for size in begun)


def _a_step(size: LeafSize, gradient: float) -> float:
    """How far a step moves a weight for a rate of 1, as a part of its size: by its gradient, or each element by 1."""
    return max(_MOMENTUM * gradient, math.sqrt(size.count)) / size.weight


def _loads(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and called_name(node) in _LOADS
