"""Labels Functions by a trial of its own, which shares no code with gradscope's: what is wrong, and the number.

Everything is in double precision where the Function takes it: element by element central differences for the first
derivative, differences of the gradient for the second, writes between forward and backward, what ctx holds, and so on.
"""

from __future__ import annotations

import gc
import importlib
import math
import weakref
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

STEP = 1e-6
WRONG = 1e-3  # of the largest entry: differences in double precision are right to about 1e-8


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


def tensors_of(value: Any) -> list[Tensor]:
    """The floating tensors of an output."""
    values = value if isinstance(value, (tuple, list)) else [value]
    return [one for one in values if isinstance(one, Tensor) and one.is_floating_point()]


def total_of(value: Any) -> Tensor:
    """The sum of an output."""
    return sum((one.sum() for one in tensors_of(value)), torch.zeros(()))


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
