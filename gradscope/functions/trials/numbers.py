"""Trials of dtype, layout and size: what torch casts, sums and strides without a word."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from gradscope.functions.inputs.sample import Sample
from gradscope.functions.trials.anatomy import examine
from gradscope.functions.trials.bench import Bench, Tensors
from gradscope.functions.trials.outcome import OK, NotApplicable, Outcome, wrong
from gradscope.functions.trials.values import torch_check


def float32(bench: Bench) -> Outcome:
    """float32 inputs give float32 outputs and gradients, close to those in float64."""
    args = bench.sample.fresh(torch.float32)
    single = Sample(tuple(args), bench.positions)
    anatomy = examine(bench.function, single)
    inputs = bench.inputs(torch.float32)
    outputs = bench.call(*inputs, dtype=torch.float32)
    total = bench.weigh(outputs)
    grads = torch.autograd.grad(total, inputs, allow_unused=True) if total.requires_grad else ()
    if all(o.dtype is torch.float64 for o in outputs):
        return wrong("float32 inputs give float64 outputs", output_double=True)
    for position, returned in enumerate(anatomy.returned[: len(args)]):
        expected = anatomy.input_dtypes[position]
        if returned.kind == "tensor" and expected and returned.dtype != expected and position in bench.positions:
            detail = (
                f"backward returns {returned.dtype} for input {position}, which is {expected}; torch casts it silently"
            )
            return wrong(detail, gradient_dtype=True)
    if bench.random:
        return OK
    far = [g for g, e in zip(grads, bench.eager_gradient, strict=False) if g is not None and not roughly(g, e, 1e-2)]
    return wrong("the float32 gradient is far from the float64 one", far=True) if far else OK


def roughly(left: Tensor, right: Tensor, relative: float) -> bool:
    """Whether two values agree up to a share of the larger one."""
    if left.shape != right.shape:
        return False
    left, right = left.detach().double(), right.detach().double()
    return (
        bool(torch.isfinite(left).all()) and bool((left - right).abs().max() <= relative * right.abs().max() + 1e-4)
        if left.numel()
        else True
    )


def complex_numbers(bench: Bench) -> Outcome:
    """gradcheck with complex inputs, for a forward that takes them."""
    if bench.custom_gradient:
        raise NotApplicable("the gradient is custom by design")
    bench.refuse_coarse()
    declared = any(bench.sample.args[i].is_complex() for i in bench.positions)
    bench = bench if declared else complex_bench(bench)
    try:
        outputs = bench.call(*bench.inputs())
    except Exception as error:
        raise NotApplicable("forward takes no complex numbers") from error
    if not any(o.is_complex() for o in outputs):
        raise NotApplicable("forward gives real numbers for complex ones")
    mismatch = torch_check(bench, torch.autograd.gradcheck)
    return wrong("the gradient of complex inputs is wrong", declared=declared) if mismatch else OK


def complex_bench(bench: Bench) -> Bench:
    """The bench with an imaginary part added to every differentiable input."""
    args = list(bench.sample.fresh(torch.float64, grad=False))
    for position in bench.positions:
        args[position] = torch.complex(
            args[position], 0.5 * args[position].flip(0) if args[position].dim() else 0.5 * args[position]
        )
    return Bench(bench.function, Sample(tuple(args), bench.positions), bench.custom_gradient, None, bench.device)


def autocast(bench: Bench) -> Outcome:
    """Forward under autocast and backward after it, as training loops do."""
    if any(bench.sample.args[i].is_complex() for i in bench.positions):
        raise NotApplicable("autocast leaves complex numbers alone")
    args = bench.sample.fresh(torch.float32)
    inputs = tuple(args[i] for i in bench.positions)
    device = torch.device(bench.device).type
    with torch.autocast(device, dtype=torch.bfloat16):
        outputs = bench.call(*inputs, dtype=torch.float32)
    total = bench.weigh(tuple(o.float() for o in outputs))
    if not total.requires_grad:
        raise NotApplicable("the outputs do not require grad")
    grads = torch.autograd.grad(total, inputs, allow_unused=True)
    if bench.random:
        return OK
    far = [g for g, e in zip(grads, bench.eager_gradient, strict=True) if g is not None and not roughly(g, e, 0.3)]
    return wrong("the gradient under autocast is far from the float32 one") if far else OK


def zero_size(bench: Bench) -> Outcome:
    """Tensors with no elements along the first dimension, where forward takes them."""
    sizes = {value.shape[0] for i in bench.sample.tensors if (value := bench.sample.args[i]).dim()}
    if not sizes:
        raise NotApplicable("no input has a dimension")
    if any(bench.sample.args[i].layout is not torch.strided for i in bench.sample.tensors):
        raise NotApplicable("an input is sparse")
    first = bench.sample.args[bench.positions[0]]
    if not first.dim():
        raise NotApplicable("the first input has no dimension")
    args = [
        v[:0] if isinstance(v, Tensor) and v.dim() and v.shape[0] == first.shape[0] else v
        for v in bench.sample.fresh(bench.dtype, grad=False)
    ]
    empty = Bench(bench.function, Sample(tuple(args), bench.positions), bench.custom_gradient, None, bench.device)
    try:
        empty.call(*empty.inputs())
    except Exception as error:
        raise NotApplicable("forward takes no empty tensors") from error
    empty.gradient(empty.inputs())
    return OK


def noncontig(bench: Bench) -> Outcome:
    """The same values with other strides give the same values and gradients."""
    bench.refuse_random()
    inputs = tuple(strided(x).requires_grad_() for x in bench.inputs())
    if not any(x.dim() for x in inputs):
        raise NotApplicable("no input has a dimension")
    expected = bench.call(*bench.inputs())
    if not bench.all_close(bench.call(*inputs), expected):
        return wrong("forward gives other values for non-contiguous inputs", forward=True)
    if not bench.all_close(bench.gradient(inputs), bench.eager_gradient):
        return wrong("backward gives another gradient for non-contiguous inputs", forward=False)
    return OK


def strided(tensor: Tensor) -> Tensor:
    """A copy whose elements are spread out in memory, last dimension slowest."""
    if not tensor.dim():
        return tensor.detach().clone()
    order = tuple(reversed(range(tensor.dim())))
    spread = torch.stack([tensor.detach().permute(order), torch.full_like(tensor.detach().permute(order), 7)], -1)
    return spread.contiguous()[..., 0].permute(order)


def expanded_gout(bench: Bench) -> Outcome:
    """A gradient that is one number, expanded (as `sum` sends it), gives the same as a full tensor of ones."""

    def gradient(make: Callable[[Tensor], Tensor]) -> list[Any]:
        inputs = bench.inputs()
        outputs = require_grad(bench.call(*inputs))
        return list(torch.autograd.grad(outputs, inputs, [make(o) for o in outputs], allow_unused=True))

    full = gradient(torch.ones_like)
    expanded = gradient(lambda o: torch.ones((), dtype=o.dtype, device=o.device).expand(o.shape))
    if not bench.all_close(full, expanded):
        return wrong("an expanded incoming gradient gives another result than a full one")
    weights = bench.cotangents(require_grad(bench.call(*bench.inputs())))
    spread = iter([strided(w) for w in weights])
    plain = iter(weights)
    if not bench.all_close(gradient(lambda o: next(plain)), gradient(lambda o: next(spread))):
        return wrong("a non-contiguous incoming gradient gives another result than a contiguous one")
    return OK


def require_grad(outputs: Tensors) -> Tensors:
    """The outputs that require grad; not applicable when there are none."""
    chosen = tuple(o for o in outputs if o.requires_grad)
    if not chosen:
        raise NotApplicable("the outputs do not require grad")
    return chosen
