"""Compile trials: torch.compile, compiled autograd, export and make_fx. Slow, so they run only when asked for."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from gradscope.functions.seeding import seed_torch
from gradscope.functions.trials.bench import Bench, Tensors
from gradscope.functions.trials.outcome import OK, Outcome, wrong
from gradscope.functions.trials.transforms import compare_gradient, plain
from gradscope.torch_internals.find import bound


def weighed(bench: Bench) -> tuple[Any, tuple[Any, ...], tuple[Tensor, ...]]:
    """The scalar as a function of all arguments, free of gradscope's own machinery, which Dynamo would trace."""
    apply, weights = bench.function.apply, bench.cotangents(bench.call(*bench.inputs()))
    marked, dirty = bench.anatomy.nondifferentiable, bench.dirty
    args = tuple(bench.arguments())

    def function(*values: Any) -> Tensor:
        if dirty:
            values = tuple(v.clone() if isinstance(v, Tensor) else v for v in values)
        outputs = apply(*values)
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        chosen = [
            o for i, o in enumerate(outputs) if i not in marked and isinstance(o, Tensor) and o.is_floating_point()
        ]
        return sum((o * w).sum() for o, w in zip(chosen, weights, strict=False))  # type: ignore[return-value]

    return function, args, tuple(args[i] for i in bench.positions)


def compile_full(bench: Bench) -> Outcome:
    """torch.compile(fullgraph=True, backend="aot_eager") gives eager's gradient."""
    function, args, inputs = weighed(bench)
    bound("torch._dynamo.reset")()
    seed_torch()
    compiled: Any = torch.compile(function, fullgraph=True, backend="aot_eager")
    total = compiled(*args)
    grads = zeros_for_none(torch.autograd.grad(total, inputs, allow_unused=True), inputs)
    return compare_gradient(bench, bench.shaped(grads))


def zeros_for_none(grads: tuple[Tensor | None, ...], inputs: tuple[Tensor, ...]) -> Tensors:
    """Gradients with zeros for the missing ones."""
    return tuple(torch.zeros_like(x) if g is None else g for g, x in zip(grads, inputs, strict=True))


def compiled_autograd(bench: Bench) -> Outcome:
    """A backward under compiled autograd gives eager's gradient."""
    inputs = bench.inputs()
    total = bench.scalar(*inputs)
    bound("torch._dynamo.reset")()
    with bound("torch._dynamo.compiled_autograd._enable")(torch.compile(backend="eager")):
        grads = torch.autograd.grad(total, inputs, allow_unused=True)
    return compare_gradient(bench, zeros_for_none(grads, inputs))


class _Module(torch.nn.Module):
    """A module that applies the Function to tensors, which is what export takes."""

    def __init__(self, bench: Bench) -> None:
        super().__init__()
        self.apply_function, self.template = bench.function.apply, bench.arguments()
        self.tensors, self.dirty = bench.sample.tensors, bench.dirty

    def forward(self, *values: Tensor) -> Any:
        args = [None if isinstance(v, Tensor) else v for v in self.template]
        for position, value in zip(self.tensors, values, strict=True):
            args[position] = value.clone() if self.dirty else value
        return self.apply_function(*args)


def export(bench: Bench) -> Outcome:
    """torch.export keeps the values and, as far as it keeps a backward at all, the gradient."""
    args = bench.arguments()
    tensors = tuple(args[i] for i in bench.sample.tensors)
    program = torch.export.export(_Module(bench), tensors).module()
    outputs = bench.differentiable(program(*tensors))
    if not bench.all_close(outputs, bench.call(*plain(bench))):
        return wrong("the exported program gives other values")
    return compare_traced(bench, bench.weigh(outputs), tuple(args[i] for i in bench.positions))


def make_fx(bench: Bench) -> Outcome:
    """make_fx traces forward; run on other inputs, the trace must follow them."""
    from torch.fx.experimental.proxy_tensor import make_fx as trace

    traced = trace(bench.call)(*plain(bench))
    other = tuple(x * 0.9 for x in plain(bench))
    if not bench.all_close(tuple(traced(*other)), bench.call(*other)):
        return wrong("the trace has values of the first inputs baked in as constants", baked=True)
    inputs = bench.inputs()
    return compare_traced(bench, bench.weigh(tuple(traced(*inputs))), inputs)


def compare_traced(bench: Bench, total: Tensor, inputs: tuple[Tensor, ...]) -> Outcome:
    """Whether a trace still has the Function's own gradient."""
    grads: tuple[Tensor | None, ...] = (None,) * len(inputs)
    if total.requires_grad:
        grads = torch.autograd.grad(total, inputs, allow_unused=True)
    if bench.all_close(bench.shaped(zeros_for_none(grads, inputs)), bench.eager_gradient):
        return OK
    return wrong("the trace has the traced operators' gradient, not the Function's backward", gradient_lost=True)
