"""torch.func trials: each transform against eager autograd and against numerical differences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from gradscope.functions.trials.bench import Bench, Tensors
from gradscope.functions.trials.outcome import OK, NotApplicable, NotTried, Outcome, wrong
from gradscope.functions.trials.values import OTHER_SECOND, SILENT, compare_tangents, only, second_order

LARGEST_JACOBIAN = 4096


def everything(bench: Bench) -> tuple[int, ...]:
    """argnums for all differentiable inputs."""
    return tuple(range(len(bench.positions)))


def plain(bench: Bench) -> Tensors:
    """Inputs that do not require grad: the transform makes its own leaves."""
    return tuple(x.detach() for x in bench.inputs())


def compare_gradient(bench: Bench, grads: Sequence[Tensor | None]) -> Outcome:
    """A transform's gradient must be eager's, and that must be what numerical differences say."""
    if not bench.all_close(grads, bench.eager_gradient):
        return wrong("differs from the eager gradient", differs="eager")
    if not bench.gradient_agrees(grads):
        return wrong("the gradient differs from numerical differences", differs="numbers")
    return OK


def grad(bench: Bench) -> Outcome:
    """func.grad of the weighed outputs."""
    return compare_gradient(bench, torch.func.grad(bench.scalar, argnums=everything(bench))(*plain(bench)))


def vjp(bench: Bench) -> Outcome:
    """func.vjp, whose outputs must be forward's, before and after the gradient is taken."""
    result: Any = torch.func.vjp(bench.call, *plain(bench))
    outputs, pull = result
    expected = tuple(o.detach() for o in bench.call(*plain(bench)))
    if not bench.all_close(outputs, expected):
        return wrong("the outputs under vjp differ from eager's", primal=True)
    grads = pull(tuple(w.conj() for w in bench.cotangents(outputs)))
    if not bench.all_close(outputs, expected):
        return wrong("taking the gradient changes the outputs", output_changed=True)
    return compare_gradient(bench, grads)


def jvp(bench: Bench) -> Outcome:
    """func.jvp along a fixed direction."""
    result: Any = torch.func.jvp(bench.call, plain(bench), bench.directions())
    outputs, tangents = result
    if not bench.all_close(outputs, bench.call(*plain(bench))):
        return wrong("the outputs under jvp differ from eager's", primal=True)
    return compare_tangents(bench, tangents, bench.directions())


def jvp_partial(bench: Bench) -> Outcome:
    """func.jvp with a tangent for one input at a time."""
    if len(bench.positions) < 2:
        raise NotApplicable("there is one differentiable input")
    inputs, directions = plain(bench), bench.directions()
    for index in everything(bench):

        def along(value: Tensor, index: int = index) -> Tensors:
            return bench.call(*inputs[:index], value, *inputs[index + 1 :])

        result: Any = torch.func.jvp(along, (inputs[index],), (directions[index],))
        tangents = result[1]
        outcome = compare_tangents(bench, tangents, only(directions, index))
        if outcome.status.failed:
            return wrong(
                f"with a tangent for input {bench.positions[index]} alone: {outcome.detail}",
                differs="numbers",
                index=index,
            )
    return OK


def jacrev(bench: Bench) -> Outcome:
    """func.jacrev, contracted with the weights."""
    refuse_large(bench)
    bench.refuse_nonlinear()
    rows = torch.func.jacrev(bench.call, argnums=everything(bench))(*plain(bench))
    outputs = bench.call(*plain(bench))
    weights = bench.cotangents(outputs)
    grads = []
    for index, x in enumerate(plain(bench)):
        terms = [torch.tensordot(w, row[index], w.dim()) for w, row in zip(weights, rows, strict=True)]
        grads.append(sum(terms[1:], terms[0]).reshape(x.shape))
    return compare_gradient(bench, grads)


def jacfwd(bench: Bench) -> Outcome:
    """func.jacfwd, contracted with the direction."""
    refuse_large(bench)
    rows = torch.func.jacfwd(bench.call, argnums=everything(bench))(*plain(bench))
    tangents = []
    for row in rows:
        terms = [torch.tensordot(block, d, d.dim()) for block, d in zip(row, bench.directions(), strict=True)]
        tangents.append(sum(terms[1:], terms[0]))
    return compare_tangents(bench, tuple(tangents), bench.directions())


def refuse_large(bench: Bench) -> None:
    """A full Jacobian is tried only where it is small and real."""
    outputs = bench.call(*plain(bench))
    if any(t.is_complex() for t in (*outputs, *plain(bench))):
        raise NotApplicable("torch.func makes no Jacobians of complex numbers")
    if sum(o.numel() for o in outputs) * sum(x.numel() for x in plain(bench)) > LARGEST_JACOBIAN:
        raise NotTried("the sample is too large for a full Jacobian")


def grad_grad(bench: Bench) -> Outcome:
    """func.grad of func.grad, against differences of the eager gradient."""
    bench.refuse_surface()
    inner = torch.func.grad(bench.scalar, argnums=everything(bench))

    def outer(*inputs: Tensor) -> Tensor:
        return bench.weigh(inner(*inputs), bench.directions(3))

    return second_order(bench, torch.func.grad(outer, argnums=everything(bench))(*plain(bench)))


def hessian(bench: Bench) -> Outcome:
    """func.hessian, forward over reverse, contracted with two directions."""
    bench.refuse_surface()
    refuse_large(bench)
    numbers = everything(bench)
    blocks = torch.func.hessian(bench.scalar, argnums=numbers)(*plain(bench))
    weights, inputs = bench.directions(3), plain(bench)
    second = []
    for j, x in enumerate(inputs):
        terms = [torch.tensordot(weights[i], blocks[i][j], weights[i].dim()) for i in numbers]
        second.append(sum(terms[1:], terms[0]).reshape(x.shape))
    return second_order(bench, tuple(second))


def jvp_grad(bench: Bench) -> Outcome:
    """func.jvp of func.grad along the fixed direction: forward over reverse, without vmap."""
    bench.refuse_surface()
    gradient = torch.func.grad(bench.scalar, argnums=everything(bench))
    result: Any = torch.func.jvp(gradient, plain(bench), bench.directions())
    bench.refuse_half()
    if bench.second_order_agrees_along(result[1]):
        return OK
    silent = not any(bool(change.any()) for change in result[1])
    return wrong(SILENT if silent else OTHER_SECOND, silent=silent)


def functionalize(bench: Bench) -> Outcome:
    """func.functionalize, which torch 2.13 supports for no Function with setup_context."""
    outputs = torch.func.functionalize(bench.call)(*plain(bench))
    return OK if bench.all_close(outputs, bench.call(*plain(bench))) else wrong("differs from eager")


class _Holder(torch.nn.Module):
    """A module whose parameters are the Function's inputs."""

    def __init__(self, bench: Bench) -> None:
        super().__init__()
        self.bench = bench
        self.values = torch.nn.ParameterList(plain(bench))

    def forward(self) -> Tensor:
        return self.bench.scalar(*self.values)


def functional_call(bench: Bench) -> Outcome:
    """func.grad through func.functional_call of a module that applies the Function."""
    module = _Holder(bench)
    parameters = {name: p.detach() for name, p in module.named_parameters()}
    grads = torch.func.grad(lambda p: torch.func.functional_call(module, p, ()))(parameters)
    return compare_gradient(bench, [grads[name] for name in parameters])
