"""Trials of what crosses the border of a transform: tensors that escape from it, and inputs that are written in it.

The surprise: a tensor that escapes from grad or jvp serves later as its value; one that escapes from vmap raises.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from gradscope.functions.inputs.sample import tensors_in
from gradscope.functions.trials.bench import Bench, Tensors, seeded
from gradscope.functions.trials.outcome import OK, NotApplicable, NotTried, Outcome, wrong
from gradscope.functions.trials.transforms import plain

Transform = Callable[[Callable[..., Tensors], Tensors], object]


def total(outputs: Tensors) -> Tensor:
    """A real scalar of all differentiable outputs."""
    terms = [o.abs().sum() if o.is_complex() else o.sum() for o in outputs if o.is_floating_point() or o.is_complex()]
    return sum(terms[1:], terms[0])


def scalar(function: Callable[..., Tensors]) -> Callable[..., Tensor]:
    """The function followed by a sum."""
    return lambda *inputs: total(function(*inputs))


def gradient(function: Callable[..., Tensors], inputs: Tensors) -> Callable[..., Any]:
    """func.grad of the sum with respect to all inputs."""
    return torch.func.grad(scalar(function), argnums=tuple(range(len(inputs))))


def batches(inputs: Tensors) -> Tensors:
    """Two copies of every input, stacked."""
    return tuple(torch.stack([x, x]) for x in inputs)


TRANSFORMS: dict[str, Transform] = {
    "grad": lambda function, inputs: gradient(function, inputs)(*inputs),
    "vjp": lambda function, inputs: torch.func.vjp(function, *inputs),
    "jvp": lambda function, inputs: torch.func.jvp(function, inputs, inputs),
    "jacrev": lambda function, inputs: torch.func.jacrev(scalar(function))(*inputs),
    "jacfwd": lambda function, inputs: torch.func.jacfwd(scalar(function))(*inputs),
    "hessian": lambda function, inputs: torch.func.hessian(scalar(function))(*inputs),
    "vmap": lambda function, inputs: torch.vmap(function, randomness="same")(*batches(inputs)),
    "vmap of grad": lambda function, inputs: torch.vmap(gradient(function, inputs))(*batches(inputs)),
    "grad of vmap": lambda function, inputs: gradient(torch.vmap(function), inputs)(*batches(inputs)),
}


def mark_dirty(bench: Bench) -> Outcome:
    """An input that forward writes is the output, under every transform; the detail says which ones take it."""
    if not bench.anatomy.dirty:
        raise NotApplicable("forward marks no input dirty")
    inputs = plain(bench)
    ends = {name: end_under(bench, transform, inputs) for name, transform in TRANSFORMS.items()}
    words = [
        f"{end} under {', '.join(names)}"
        for end in ("ok", "wrong", "raises")
        if (names := [name for name, found in ends.items() if found == end])
    ]
    own = "ok" if takes_own_input(bench, inputs) else "raises"
    detail = f"torch {torch.__version__}: {'; '.join(words)}; {own} on the transform's own input"
    if "ok" not in ends.values() and "wrong" not in ends.values():
        raise NotTried(detail)
    return wrong(detail) if "wrong" in ends.values() else Outcome(OK.status, detail)


def end_under(bench: Bench, transform: Transform, inputs: Tensors) -> str:
    """How the Function ends under one transform: wrong when what was written is not what was returned."""
    seen: list[bool] = []

    def function(*values: Tensor) -> Tensors:
        args = bench.sample.fresh(bench.dtype, grad=False)
        for position, value in zip(bench.positions, values, strict=True):
            args[position] = value.clone()
        outputs = tensors_in(bench.function.apply(*args))
        written = [args[int(name.split()[1])] for name in bench.anatomy.dirty if name.startswith("input")]
        seen.append(all(any(w is o for o in outputs) for w in written))
        return bench.differentiable(tuple(outputs))

    try:
        transform(function, inputs)
    except Exception:
        return "raises"
    return "ok" if all(seen) else "wrong"


def takes_own_input(bench: Bench, inputs: Tensors) -> bool:
    """Whether func.grad lets the Function write the very tensor that it differentiates for."""

    def function(*values: Tensor) -> Tensors:
        args = bench.sample.fresh(bench.dtype, grad=False)
        for position, value in zip(bench.positions, values, strict=True):
            args[position] = value
        return bench.differentiable(bench.function.apply(*args))

    try:
        gradient(function, inputs)(*inputs)
    except Exception:
        return False
    return True


def dead_wrapper(bench: Bench) -> Outcome:
    """After a transform has ended, nothing of it is left in the Function, and its tensors serve as plain values.

    It runs in a child process of its own, where the Function was never called: a cache is empty then, and is filled
    inside of vmap first, whose tensors nobody can use afterwards.
    """
    if not bench.sample.tensors:
        raise NotApplicable("there is no tensor among the inputs")
    expected = inside_vmap(bench)
    escaped = inside_grad(bench)
    outputs = applied(bench, *values(bench))
    if bench.random:
        return Outcome(OK.status, "values not compared: forward draws random numbers")
    if expected and not bench.all_close(outputs, expected):
        return wrong("after vmap, forward gives other values than inside of it")
    if escaped is None and not expected:
        raise NotApplicable("no transform takes the Function")
    if escaped is None:
        return OK
    before, after = escaped
    if not bench.all_close(unwrapped(after), outputs):
        return wrong("an output that escapes from grad has other values than eager's")
    if not bench.all_close(applied(bench, *before), outputs):
        return wrong("inputs that escape from grad give other values than eager's")
    return OK


def applied(bench: Bench, *tensors: Tensor) -> Tensors:
    """apply on all the sample's tensors in their own dtype, which nothing need be run for to know."""
    args = bench.sample.fresh(grad=False)
    for position, value in zip(bench.sample.tensors, tensors, strict=True):
        args[position] = value
    return tuple(tensors_in(seeded(bench.function.apply, *args)))


def values(bench: Bench) -> Tensors:
    """The sample's tensors, untracked copies."""
    args = bench.sample.fresh(grad=False)
    return tuple(args[i] for i in bench.sample.tensors)


def inside_vmap(bench: Bench) -> Tensors:
    """What vmap gives for a batch of one; nothing when it raises."""
    batch = tuple(t.unsqueeze(0) for t in values(bench))
    try:
        found = torch.vmap(lambda *t: applied(bench, *t), randomness="same")(*batch)
    except Exception:
        return ()
    return tuple(o[0] for o in found)


def inside_grad(bench: Bench) -> tuple[Tensors, Tensors] | None:
    """The Function's inputs and outputs as they escape from func.grad, or None when it raises."""
    kept: list[Tensors] = []

    def function(*tensors: Tensor) -> Tensor:
        outputs = applied(bench, *(t.clone() for t in tensors))
        kept[:] = [tensors, outputs]
        return total(outputs)

    tensors = values(bench)
    numbers = tuple(i for i, t in enumerate(tensors) if t.is_floating_point() or t.is_complex())
    try:
        torch.func.grad(function, argnums=numbers)(*tensors)
    except Exception:
        return None
    return kept[0], kept[1]


def unwrapped(tensors: Tensors) -> Tensors:
    """Escaped tensors as any operator takes them: as their values."""
    return tuple(t.clone() for t in tensors)
