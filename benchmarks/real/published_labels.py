"""Labels Functions by a trial of its own, which shares no code with gradscope's: what is wrong, and the number.

Everything is in double precision where the Function takes it: element by element central differences for the first
derivative, differences of the gradient for the second, writes between forward and backward, what ctx holds, and so on.
"""

from __future__ import annotations

import gc
import math
import weakref
from collections.abc import Callable
from typing import Any

import torch
from published_other_inputs import autocast, batched, dtypes, empty, nan_at_zero, order, strided, subset
from published_trial import STEP, Trial, prepared
from torch import Tensor

WRONG = 1e-3  # of the largest entry: differences in double precision are right to about 1e-8


def label(name: str, arguments: tuple[Any, ...], known: dict[str, Any]) -> dict[str, Any]:
    """All facts about one Function; those that are known already are taken as they are."""
    trial, facts = prepared(name, arguments)
    for fact, measure in FACTS.items():
        if fact in known:
            facts[fact] = known[fact]
            continue
        try:
            facts[fact] = measure(trial, facts)
        except Exception as error:
            facts[fact] = f"raises {type(error).__name__}: {error}".splitlines()[0][:160]
    return facts


def backward(trial: Trial, facts: dict[str, Any]) -> str:
    """Whether backward runs at all."""
    trial.gradient(trial.arguments())
    return "runs"


def first(trial: Trial, facts: dict[str, Any]) -> dict[str, Any]:
    """The first derivative: the largest difference, its share, and what forward does where they differ."""
    step = STEP if trial.dtype is torch.float64 else 1e-2
    measured = trial.slopes(trial.value, step)
    found = [g.detach().double() for g in trial.gradient(trial.arguments())]
    scale = max((float(torch.maximum(a.abs(), b.abs()).max()) for a, b in zip(measured, found, strict=True)), default=0)
    gaps = [(a - b).abs() for a, b in zip(measured, found, strict=True)]
    gap = max((float(g.max()) for g in gaps), default=0.0)
    bound = (WRONG if trial.dtype is torch.float64 else 5e-2) * max(scale, 1e-6)
    wrong = [g > bound for g in gaps]
    flat = all(bool((a[w].abs() < 1e-9).all()) for a, w in zip(measured, wrong, strict=True))
    return {
        "gap": round(gap, 6),
        "of": round(scale, 6),
        "wrong": gap > bound,
        "forward_flat_there": flat and gap > bound,
    }


def second(trial: Trial, facts: dict[str, Any]) -> dict[str, Any]:
    """The second derivative against differences of the first."""

    def weighed(inputs: list[Any], create_graph: bool = False) -> Tensor:
        grads = trial.gradient(inputs, create_graph)
        return sum(((g * w).sum() for g, w in zip(grads, trial.weights(grads, 5), strict=True)), torch.zeros(()))

    inputs = trial.arguments()
    total = weighed(inputs, True)
    wanted = [inputs[place] for place in trial.places]
    found = [torch.zeros_like(x) for x in wanted]
    if total.requires_grad:
        grads = torch.autograd.grad(total, wanted, allow_unused=True)
        found = [z if g is None else g for z, g in zip(found, grads, strict=True)]
    step = 1e-5 if trial.dtype is torch.float64 else 2e-2
    measured = trial.slopes(lambda moved: float(weighed(moved).detach()), step)
    scale = max(float(torch.maximum(a.abs(), b.double().abs()).max()) for a, b in zip(measured, found, strict=True))
    gap = max(float((a - b.double()).abs().max()) for a, b in zip(measured, found, strict=True))
    bound = (WRONG if trial.dtype is torch.float64 else 1e-1) * max(scale, 1e-6)
    return {"gap": round(gap, 6), "of": round(scale, 6), "wrong": gap > bound and not math.isnan(gap)}


def stale(trial: Trial, facts: dict[str, Any]) -> bool:
    """Whether an input that is overwritten after forward silently changes the gradient."""
    expected = trial.gradient(trial.arguments())
    inputs = trial.arguments()
    torch.manual_seed(7)
    outputs = trial.function.apply(*inputs)
    outputs = [o for o in (outputs if isinstance(outputs, (tuple, list)) else [outputs]) if isinstance(o, Tensor)]
    outputs = [o for o in outputs if o.requires_grad]
    total = sum((o * w).sum() for o, w in zip(outputs, trial.weights(outputs), strict=True))
    with torch.no_grad():
        for value in inputs:
            if isinstance(value, Tensor) and value.is_floating_point():
                value.mul_(-1.5)
    wanted = [inputs[place] for place in trial.places]
    try:
        found = torch.autograd.grad(total, wanted, allow_unused=True)
    except RuntimeError:
        return False
    return any(f is not None and not torch.allclose(f, e, 1e-4, 1e-7) for f, e in zip(found, expected, strict=True))


def on_ctx(trial: Trial, facts: dict[str, Any]) -> list[str]:
    """The attributes of ctx in which tensors are."""
    nodes = [o.grad_fn for o in trial.run(trial.arguments()) if o.grad_fn is not None]
    found = [k for n in nodes for k, v in getattr(n, "__dict__", {}).items() if holds_tensor(v)]
    return sorted(set(found))


def holds_tensor(value: Any) -> bool:
    """Whether a tensor is in a value."""
    if isinstance(value, (list, tuple)):
        return any(map(holds_tensor, value))
    if isinstance(value, dict):
        return any(map(holds_tensor, value.values()))
    return isinstance(value, Tensor)


def leaks(trial: Trial, facts: dict[str, Any]) -> bool:
    """Whether the node outlives its outputs while the garbage collector is off."""
    gc.collect()
    gc.disable()
    try:
        node = next(o.grad_fn for o in trial.run(trial.arguments()) if o.grad_fn is not None)
        reference = weakref.ref(node)
        del node
        return reference() is not None
    finally:
        gc.enable()


def writes_input(trial: Trial, facts: dict[str, Any]) -> bool:
    """Whether forward writes into an input."""
    inputs = trial.arguments(grad=False)
    before = [a.clone() if isinstance(a, Tensor) else a for a in inputs]
    trial.function.apply(*inputs)
    return any(isinstance(a, Tensor) and not torch.equal(a, b) for a, b in zip(inputs, before, strict=True))


def writes_gradient(trial: Trial, facts: dict[str, Any]) -> bool:
    """Whether backward writes into the incoming gradient."""
    inputs = trial.arguments()
    outputs = trial.run(inputs)
    weights = trial.weights(outputs)
    before = [w.clone() for w in weights]
    torch.autograd.grad(outputs, [inputs[p] for p in trial.places], weights, allow_unused=True)
    return not all(torch.equal(a, b) for a, b in zip(weights, before, strict=True))


def refuses_writes(trial: Trial, facts: dict[str, Any]) -> bool:
    """Whether writing into an output raises, because it is a view of an input."""
    inputs = trial.arguments()
    outputs = trial.run(inputs)
    try:
        for output in outputs:
            output.mul_(2)
        sum(o.sum() for o in outputs).backward()
    except RuntimeError as error:
        return "is a view" in str(error)
    return False


def varies(trial: Trial, facts: dict[str, Any]) -> bool:
    """Whether two backwards over one graph give different gradients."""
    inputs = trial.arguments()
    total = sum(o.sum() for o in trial.run(inputs))
    wanted = [inputs[place] for place in trial.places]
    one = torch.autograd.grad(total, wanted, retain_graph=True, allow_unused=True)
    one = [g.clone() if g is not None else g for g in one]
    two = torch.autograd.grad(total, wanted, allow_unused=True)
    return any(a is not None and not torch.allclose(a, b) for a, b in zip(one, two, strict=True))


def needless(trial: Trial, facts: dict[str, Any]) -> list[int]:
    """The inputs whose gradient backward returns although they do not require one."""
    found = set()
    original = trial.function.backward
    for place in trial.places if len(trial.places) > 1 else ():
        inputs = trial.arguments(grad=False)
        inputs[place].requires_grad_()
        returned: list[Any] = []

        def noting(ctx: Any, *grads: Any, returned: list[Any] = returned) -> Any:
            returned.append(original(ctx, *grads))
            return returned[-1]

        trial.function.backward = staticmethod(noting)
        try:
            outputs = [o for o in trial.run(inputs) if o.requires_grad]
            if outputs:
                torch.autograd.grad(outputs, inputs[place], [torch.ones_like(o) for o in outputs], allow_unused=True)
        except Exception:  # what backward returned counts, and it may have returned nothing
            continue
        finally:
            trial.function.backward = staticmethod(original)
        values = returned[0] if returned and isinstance(returned[0], tuple) else returned
        found |= {i for i, v in enumerate(values) if isinstance(v, Tensor) and i != place and i in trial.places}
    return sorted(found)


def unread(trial: Trial, facts: dict[str, Any]) -> list[int]:
    """The saved tensors that do not matter to the gradient: NaN in their place changes nothing."""
    expected = trial.gradient(trial.arguments())
    packed: list[Tensor] = []

    def gradient(poisoned: int | None) -> list[Tensor]:
        packed.clear()

        def pack(tensor: Tensor) -> tuple[int, Tensor]:
            packed.append(tensor)
            return len(packed) - 1, tensor.detach().clone()

        def unpack(kept: tuple[int, Tensor]) -> Tensor:
            return torch.full_like(kept[1], math.nan) if kept[0] == poisoned else kept[1]

        inputs = trial.arguments()
        with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
            torch.manual_seed(7)
            outputs = trial.function.apply(*inputs)
        outputs = list(outputs) if isinstance(outputs, (tuple, list)) else [outputs]
        outputs = [o for o in outputs if isinstance(o, Tensor) and o.requires_grad]
        total = sum((o * w).sum() for o, w in zip(outputs, trial.weights(outputs), strict=True))
        found = torch.autograd.grad(total, [inputs[p] for p in trial.places], allow_unused=True)
        return [torch.zeros_like(e) if f is None else f for f, e in zip(found, expected, strict=True)]

    gradient(None)
    floating = [i for i, t in enumerate(packed) if t.is_floating_point() and t.numel()]
    return [i for i in floating if all(map(torch.equal, gradient(i), expected))]


def oversized(trial: Trial, facts: dict[str, Any]) -> list[int]:
    """The inputs whose gradient backward returns with more elements than they have."""
    returned: list[Any] = []
    original = trial.function.backward
    trial.function.backward = staticmethod(lambda ctx, *g: returned.append(original(ctx, *g)) or returned[-1])
    try:
        trial.gradient(trial.arguments())
    finally:
        trial.function.backward = staticmethod(original)
    values = returned[0] if isinstance(returned[0], tuple) else returned
    pairs = [(i, v, trial.given[i]) for i, v in enumerate(values) if isinstance(v, Tensor) and i < len(trial.given)]
    return [i for i, v, a in pairs if isinstance(a, Tensor) and v.numel() > a.numel()]


FACTS: dict[str, Callable[[Trial, dict[str, Any]], Any]] = {
    function.__name__: function
    for function in (
        backward,
        first,
        second,
        stale,
        on_ctx,
        leaks,
        writes_input,
        writes_gradient,
        refuses_writes,
        varies,
        needless,
        unread,
        nan_at_zero,
        dtypes,
        order,
        batched,
        empty,
        autocast,
        subset,
        strided,
        oversized,
    )
}
