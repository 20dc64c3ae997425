"""What a Function does where it is given something else: zeros, none, other precisions, strides, batches, two calls."""

from __future__ import annotations

from typing import Any

import torch
from published_trial import Trial, tensors_of, total_of
from torch import Tensor


def nan_at_zero(trial: Trial, facts: dict[str, Any]) -> bool:
    """Whether the gradient is NaN at zero where forward is finite."""
    inputs = trial.arguments()
    with torch.no_grad():
        for place in trial.places:
            inputs[place].zero_()
    if not all(bool(torch.isfinite(o).all()) for o in trial.run(inputs)):
        return False
    return any(bool(torch.isnan(g).any()) for g in trial.gradient(inputs))


def dtypes(trial: Trial, facts: dict[str, Any]) -> dict[str, bool]:
    """Whether single precision inputs give double precision outputs, or gradients that torch casts."""
    single = Trial(f"{trial.function.__module__}.{trial.function.__name__}", trial.given, torch.float32)
    outputs = single.run(single.arguments())
    return {"double_output": all(o.dtype is torch.float64 for o in outputs)}


def order(trial: Trial, facts: dict[str, Any]) -> bool:
    """Whether two forwards before two backwards disturb each other."""
    alone = trial.gradient(trial.arguments())
    inputs, others = trial.arguments(), trial.arguments()
    with torch.no_grad():
        for place in trial.places:
            others[place].mul_(0.9)
    outputs = trial.run(inputs)
    trial.run(others)
    total = sum((o * w).sum() for o, w in zip(outputs, trial.weights(outputs), strict=True))
    found = torch.autograd.grad(total, [inputs[p] for p in trial.places], allow_unused=True)
    return any(f is not None and not torch.allclose(f, a, 1e-4, 1e-7) for f, a in zip(found, alone, strict=True))


def batched(trial: Trial, facts: dict[str, Any]) -> str:
    """Whether vmap gives what a loop gives, for a Function that says it can: "right", "wrong" or "-"."""
    function = trial.function
    if not (getattr(function, "generate_vmap_rule", False) or "vmap" in vars(function)):
        return "-"
    arguments = trial.arguments(grad=False)

    def alone(*values: Tensor) -> Any:
        made = list(arguments)
        for place, value in zip(trial.places, values, strict=True):
            made[place] = value
        return function.apply(*made)

    values = [arguments[place] for place in trial.places]
    looped = [alone(*values), alone(*(0.9 * value for value in values))]
    together = torch.func.vmap(alone)(*(torch.stack([value, 0.9 * value]) for value in values))
    torch.func.vmap(torch.func.grad(lambda *xs: total_of(alone(*xs))))(*(torch.stack([v, 0.9 * v]) for v in values))
    pairs = zip(tensors_of(together), *(tensors_of(one) for one in looped), strict=True)
    return "right" if all(torch.allclose(t, torch.stack([a, b])) for t, a, b in pairs) else "wrong"


def empty(trial: Trial, facts: dict[str, Any]) -> str:
    """Whether backward takes what forward takes without elements: "right" or "-"."""
    size = next((a.shape[0] for a in trial.given if isinstance(a, Tensor) and a.dim()), None)
    inputs = [
        a.detach()[:0] if isinstance(a, Tensor) and a.dim() and a.shape[0] == size else a
        for a in trial.arguments(grad=False)
    ]
    for place in trial.places:
        inputs[place] = inputs[place].clone().requires_grad_()
    try:
        outputs = trial.run(inputs)
    except Exception:
        return "-"
    followed = [o for o in outputs if o.requires_grad]
    torch.autograd.grad(
        followed, [inputs[p] for p in trial.places], [torch.ones_like(o) for o in followed], allow_unused=True
    )
    return "right"


def autocast(trial: Trial, facts: dict[str, Any]) -> str:
    """Whether backward runs after a forward under autocast."""
    single = Trial(f"{trial.function.__module__}.{trial.function.__name__}", trial.given, torch.float32)
    inputs = single.arguments()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        outputs = single.run(inputs)
    total = sum(o.float().sum() for o in outputs)
    torch.autograd.grad(total, [inputs[place] for place in single.places], allow_unused=True)
    return "runs"


def subset(trial: Trial, facts: dict[str, Any]) -> list[int]:
    """The inputs whose gradient is another one when they alone require it."""
    together = trial.gradient(trial.arguments())
    found = []
    for number, place in enumerate(trial.places if len(trial.places) > 1 else ()):
        inputs = trial.arguments(grad=False)
        inputs[place].requires_grad_()
        outputs = [o for o in trial.run(inputs) if o.requires_grad]
        weights = trial.weights(outputs)
        total = sum(((o * w).sum() for o, w in zip(outputs, weights, strict=True)), torch.zeros(()))
        alone = torch.autograd.grad(total, inputs[place], allow_unused=True)[0] if outputs else None
        alone = torch.zeros_like(inputs[place]) if alone is None else alone
        if not torch.allclose(alone, together[number], 1e-4, 1e-7):
            found.append(place)
    return found


def strided(trial: Trial, facts: dict[str, Any]) -> str:
    """Whether inputs that are not contiguous in memory give the same gradient: "same" or "other"."""
    expected = trial.gradient(trial.arguments())
    inputs = trial.arguments(grad=False)
    for place in trial.places:
        value = inputs[place]
        inputs[place] = torch.stack([value, value], -1)[..., 0] if value.dim() else value
        inputs[place].requires_grad_()
    found = trial.gradient(inputs)
    return "same" if all(torch.allclose(f, e, 1e-4, 1e-7) for f, e in zip(found, expected, strict=True)) else "other"
