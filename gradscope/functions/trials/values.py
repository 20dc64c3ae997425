"""Eager trials: forward, backward, twice backward, and what numerical differences say about them."""

from __future__ import annotations

import functools
import re
import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd import forward_ad
from torch.autograd.gradcheck import GradcheckError

from gradscope.functions.inputs.build import finite
from gradscope.functions.inputs.sample import tensors_in
from gradscope.functions.trials.bench import Bench, Tensors, dot, seeded
from gradscope.functions.trials.outcome import OK, NotApplicable, NotTried, Outcome, wrong
from gradscope.functions.trials.precision import EXACT

SILENT = "the second derivative is silently zero"
OTHER_SECOND = "the second derivative differs from differences of the first"
NOT_FINITE = "the second derivative is NaN or Inf where the first and its differences are finite"
REFUSALS = {  # torch's words for a second derivative that the author has ruled out, and ours
    "marked with @once_differentiable": "once_differentiable: torch refuses, as declared",
    "input_grad_buffers does not support create_graph": "ctx.input_grad_buffers: torch refuses create_graph",
}
LARGE = 200  # elements above which gradcheck looks along random directions instead of at every element


def eager_fwd(bench: Bench) -> Outcome:
    """apply runs, gives the same with and without grad mode, and what the reference gives."""
    outputs = tensors_in(seeded(bench.function.apply, *bench.sample_args()))
    with torch.no_grad():
        quiet = tensors_in(seeded(bench.function.apply, *bench.sample.fresh(grad=False)))
    if not bench.all_close(outputs, quiet):
        return wrong("the values differ between grad mode and torch.no_grad()", grad_mode=True)
    if bench.reference is not None:
        expected = tensors_in(seeded(bench.reference, *bench.sample.fresh(grad=False)))
        if not bench.all_close(outputs[: len(expected)], expected):
            return wrong("the values differ from the reference's", reference=True)
    return OK


def eager_bwd(bench: Bench) -> Outcome:
    """Backward runs, twice with the same result, and follows the size of the incoming gradient."""
    first = bench.eager_gradient
    again = bench.gradient(bench.inputs())
    if not bench.all_close(first, again):
        return wrong("two runs from the same start give different gradients", nondeterministic=True)
    if not bench.linear:
        detail = "twice the incoming gradient does not give twice the gradient"
        ignores = bench.ignores_incoming and (bench.design.replaces or not bench.custom_gradient)
        if bench.custom_gradient and not ignores:  # clipping, say; that it is ignored only its author can mean
            return wrong("by design: " + detail, by_design=True)
        return wrong(detail, nonlinear=True, ignores=ignores)
    if not bench.gradient_agrees(first):
        detail = "the gradient differs from numerical differences"
        return wrong(detail, differs="numbers")
    return Outcome(OK.status, facts={"edge": nan_at_zero(bench)})


def nan_at_zero(bench: Bench) -> bool:
    """Whether the gradient is NaN at zero although forward is finite there."""
    try:
        zeros = tuple(torch.zeros_like(x).requires_grad_() for x in bench.inputs())
        if not all(finite(output) for output in bench.call(*zeros)):
            return False
        return any(bool(torch.isnan(g).any()) for g in bench.gradient(zeros))
    except Exception:
        return False


def gradcheck(bench: Bench) -> Outcome:
    """Every element of the Jacobian against numerical differences."""
    pairs = compare_pairs(bench)
    mismatch = (
        "" if bench.precision.step != EXACT.step or bench.reference else torch_check(bench, torch.autograd.gradcheck)
    )
    bad = [pair for pair, kind in pairs.items() if kind != "ok"]
    if not bad and not mismatch:
        return OK
    if bench.custom_gradient:
        return wrong("by design", by_design=True)
    numbers = re.search(r"output (\d+) with respect to input (\d+)", mismatch)
    output, position = bad[0] if bad else (int(numbers[1]), int(numbers[2])) if numbers else (0, 0)
    argument = bench.positions[min(position, len(bench.positions) - 1)]
    detail = f"output {output} with respect to input {argument} differs from numerical differences"
    if pairs.get((output, position)) == "missing":
        detail = f"input {argument} gets none, or zeros, although output {output} depends on it"
    return wrong(detail, pairs=pairs, differs="numbers")


def torch_check(bench: Bench, check: Any, **options: Any) -> str:
    """torch's own check; its message when the numbers disagree. What the Function raises goes through."""
    size = sum(x.numel() for x in bench.inputs())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            check(
                bench.call,
                bench.inputs(),
                nondet_tol=1e-6,
                fast_mode=size > LARGE,
                atol=1e-5,
                rtol=bench.tolerance or 1e-3,
                **options,
            )
        except GradcheckError as error:
            return str(error)
    return ""


def compare_pairs(bench: Bench) -> dict[tuple[int, int], str]:
    """For each output and input: ok, wrong, missing (zero where numbers say it is not) or surplus (the reverse)."""
    inputs, directions = bench.inputs(), bench.directions()
    outputs = bench.call(*inputs)
    weights = bench.cotangents(outputs)
    kinds: dict[tuple[int, int], str] = {}
    changes = [bench.difference(bench.formula, only(directions, i)) for i in range(len(inputs))]
    for j, (output, weight) in enumerate(zip(outputs, weights, strict=True)):
        grads: tuple[Tensor | None, ...] = (None,) * len(inputs)
        if output.requires_grad:
            # the others' gradients are zeros, not None, or a Function that wants them all would fail here
            alone = tuple(w if k == j else 0 * w for k, w in enumerate(weights))
            grads = torch.autograd.grad(bench.weigh(outputs, alone), inputs, retain_graph=True, allow_unused=True)
        for i, grad in enumerate(grads):
            kinds[j, i] = compare_pair(bench, bench.weigh((changes[i][j],), (weight,)), dot([grad], [directions[i]]))
    return kinds


def compare_pair(bench: Bench, expected: Tensor, found: Tensor) -> str:
    """In a word, how one directional derivative compares with its numerical difference."""
    if bench.agrees(expected, found):
        return "ok"
    if found.abs() < 1e-12:
        return "missing"
    return "surplus" if expected.abs() < 1e-7 else "wrong"


def only(directions: Tensors, index: int) -> Tensors:
    """The directions with all but one set to zero."""
    return tuple(d if i == index else torch.zeros_like(d) for i, d in enumerate(directions))


def where_torch_allows(trial: Callable[[Bench], Outcome]) -> Callable[[Bench], Outcome]:
    """A trial of second derivatives, which need not exist where torch itself refuses them."""

    @functools.wraps(trial)
    def tried(bench: Bench) -> Outcome:
        try:
            return trial(bench)
        except RuntimeError as error:
            for words, reason in REFUSALS.items():
                if words in str(error):
                    raise NotApplicable(reason) from None
            raise

    return tried


@where_torch_allows
def eager_bwd2(bench: Bench) -> Outcome:
    """autograd.grad of the gradient, against differences of the gradient."""
    bench.refuse_once_differentiable()
    inputs = bench.inputs()
    grads = bench.gradient(inputs, create_graph=True)
    total = bench.weigh(grads, bench.directions(3))
    second: tuple[Tensor | None, ...] = (None,) * len(inputs)
    if total.requires_grad:
        second = torch.autograd.grad(total, inputs, allow_unused=True)
    return second_order(bench, second)


def second_order(bench: Bench, second: tuple[Tensor | None, ...]) -> Outcome:
    """Compare a second-order gradient, naming two kinds of fault: a plain zero, and a division that went wrong."""
    bench.refuse_half()
    if not all(finite(change) for change in bench.gradient_difference):
        raise NotTried("the gradient is not finite everywhere around the inputs")
    if bench.second_order_agrees(second):
        return OK
    if not all(finite(g) for g in second if g is not None):
        return wrong(NOT_FINITE, not_finite=True)
    silent = all(g is None or not g.any() for g in second)
    return wrong(SILENT if silent else OTHER_SECOND, silent=silent)


@where_torch_allows
def bwd2_engine(bench: Bench) -> Outcome:
    """The same through .backward(), which runs error nodes that autograd.grad prunes."""
    inputs = bench.inputs()
    total = bench.scalar(*inputs)
    if not total.requires_grad:
        raise NotApplicable("the outputs do not require grad")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        total.backward(create_graph=True)  # type: ignore[no-untyped-call]
    grads = tuple(torch.zeros_like(x) if x.grad is None else x.grad.clone() for x in inputs)
    for x in inputs:
        x.grad = None
    weighed = bench.weigh(grads, bench.directions(3))
    if weighed.requires_grad:
        weighed.backward()  # type: ignore[no-untyped-call]
    bench.refuse_once_differentiable()
    return second_order(bench, tuple(x.grad for x in inputs))


@where_torch_allows
def gradgradcheck(bench: Bench) -> Outcome:
    """Every element of the second order; the incoming gradient is an input of it, too."""
    bench.refuse_once_differentiable()
    bench.refuse_coarse()
    if sum(x.numel() for x in bench.inputs()) > LARGE:
        raise NotTried("the sample is too large to look at every element")
    if not bench.scalar(*bench.inputs()).requires_grad:
        raise NotApplicable("the outputs do not require grad")
    mismatch = torch_check(bench, torch.autograd.gradgradcheck)
    if not mismatch:
        return OK
    silent = "not have requires_grad" in mismatch or "does not require grad" in mismatch
    return wrong(OTHER_SECOND, silent=silent)


def gradcheck_fwd(bench: Bench) -> Outcome:
    """Every element of the Jacobian, computed forwards."""
    bench.refuse_coarse()
    mismatch = torch_check(bench, torch.autograd.gradcheck, check_forward_ad=True, check_backward_ad=False)
    if mismatch and bench.custom_gradient:
        return wrong("by design", by_design=True)
    return wrong("the tangent differs from numerical differences") if mismatch else OK


def fwad(bench: Bench) -> Outcome:
    """Plain forward-mode AD with dual numbers, against differences."""
    with forward_ad.dual_level():
        duals = tuple(
            forward_ad.make_dual(x.detach(), d)  # type: ignore[no-untyped-call]
            for x, d in zip(bench.inputs(), bench.directions(), strict=True)
        )
        outputs = bench.call(*duals)
        tangents = tuple(forward_ad.unpack_dual(o).tangent for o in outputs)  # type: ignore[no-untyped-call]
    return compare_tangents(bench, tangents, bench.directions())


def compare_tangents(bench: Bench, tangents: tuple[Tensor | None, ...], direction: Tensors) -> Outcome:
    """Compare tangents with numerical differences along the same direction; a custom gradient's with backward's."""
    expected = bench.difference(bench.formula, direction)
    if len(tangents) == len(expected) and all(
        bench.close(e, t, loose=10) for e, t in zip(expected, tangents, strict=True)
    ):
        return OK
    if not bench.custom_gradient:
        return wrong("the tangent differs from numerical differences", differs="numbers")
    if dual(bench, tangents, direction):
        return Outcome(OK.status, "follows the custom gradient")
    return wrong("the tangent follows neither numerical differences nor the custom gradient", differs="numbers")


def dual(bench: Bench, tangents: tuple[Tensor | None, ...], direction: Tensors) -> bool:
    """Whether jvp is backward's transpose: weights times tangents is the gradient times the direction."""
    bench.refuse_nonlinear()
    outputs = bench.call(*bench.inputs())
    pushed = bench.weigh(tuple(torch.zeros_like(o) if t is None else t for o, t in zip(outputs, tangents, strict=True)))
    return bench.close(pushed.detach(), dot(bench.eager_gradient, direction), loose=10)
