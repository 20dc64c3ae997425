"""vmap trials against a Python loop.

Inputs go in untouched, because an operator before the Function would move the batch dimension to the front.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from gradscope.functions.inputs.sample import tensors_in
from gradscope.functions.trials.bench import Bench, Tensors, seeded
from gradscope.functions.trials.draws import CONSTANTS, ConstantDraws
from gradscope.functions.trials.outcome import OK, NotApplicable, NotTried, Outcome, worst, wrong

SCALES = (1.0, 0.9, 0.8)  # none above 1: what is a share, or a probability, stays one
BATCH = len(SCALES)
MODES = ("error", "different", "same")
CONSTANT_DRAWS = "values compared with constant draws"
OWN_DRAWS = "shapes only, because forward draws random numbers of its own"


@dataclass
class Batch:
    """The sample's tensors, some of them stacked from slightly different copies along their dimension in `dims`."""

    bench: Bench
    dims: tuple[int | None, ...]

    @property
    def single(self) -> Tensors:
        """The tensors as they are, in the bench's precision and without grad."""
        args = self.bench.sample.fresh(self.bench.dtype, grad=False)
        return tuple(args[i] for i in self.bench.sample.tensors)

    def slice(self, number: int) -> Tensors:
        """The tensors of one element of the batch."""
        return tuple(
            scaled(t, SCALES[number]) if d is not None else t for t, d in zip(self.single, self.dims, strict=True)
        )

    @property
    def stacked(self) -> Tensors:
        """The tensors as vmap gets them."""
        slices = [self.slice(b) for b in range(BATCH)]
        return tuple(
            slices[0][i] if d is None else torch.stack([s[i] for s in slices], d) for i, d in enumerate(self.dims)
        )

    @property
    def wanted(self) -> tuple[int, ...]:
        """Which of the tensors are differentiable inputs."""
        return tuple(self.bench.sample.tensors.index(p) for p in self.bench.positions)


def scaled(tensor: Tensor, factor: float) -> Tensor:
    """A copy for another element of the batch; only real numbers are scaled, so that indices stay indices."""
    return tensor * factor if tensor.is_floating_point() or tensor.is_complex() else tensor.clone()


def all_batched(bench: Bench, dim: int = 0) -> Batch:
    """Every tensor batched along the same dimension."""
    tensors = bench.sample.tensors
    if not tensors:
        raise NotApplicable("there is no tensor among the inputs")
    return Batch(bench, (dim,) * len(tensors))


def partly_batched(bench: Bench) -> list[Batch]:
    """One tensor batched at a time, the others shared."""
    count = len(bench.sample.tensors)
    if count < 2:
        raise NotApplicable("there is one tensor among the inputs")
    return [Batch(bench, tuple(0 if i == k else None for i in range(count))) for k in range(count)]


def raw_call(bench: Bench, *tensors: Tensor) -> Tensors:
    """apply on all the sample's tensors, untouched; gives the tensors among the outputs."""
    args = bench.sample.fresh(bench.dtype, grad=False)
    for position, value in zip(bench.sample.tensors, tensors, strict=True):
        args[position] = value
    return tuple(tensors_in(seeded(bench.function.apply, *args)))


def safe_call(bench: Bench, *tensors: Tensor) -> Tensor:
    """The scalar as a function of all tensors; inputs that forward writes to are cloned."""
    values = list(bench.sample.fresh(bench.dtype, grad=False))
    for position, value in zip(bench.sample.tensors, tensors, strict=True):
        values[position] = value.clone() if bench.dirty else value
    return bench.weigh(bench.differentiable(seeded(bench.function.apply, *values)), fixed_weights(bench))


def fixed_weights(bench: Bench) -> Tensors:
    """The weights for one element's outputs, computed outside of any transform."""
    if "weights" not in bench.once:
        bench.once["weights"] = bench.cotangents(bench.call(*bench.inputs()))
    weights: Tensors = bench.once["weights"]
    return weights


def still(trial: Callable[[Bench], Outcome]) -> Callable[[Bench], Outcome]:
    """The trial with constant draws, where forward draws random numbers."""

    @functools.wraps(trial)
    def run(bench: Bench) -> Outcome:
        if not bench.random:
            return trial(bench)
        outcomes = []
        for constant in CONSTANTS:
            with ConstantDraws(constant):
                outcomes.append(trial(bench))
        return worst(outcomes)

    return run


def against_loop(batch: Batch) -> Outcome:
    """vmap over one batch, compared with the loop; a rule by hand that refuses random numbers is tried with "same"."""
    try:
        return in_mode(batch, "error")
    except RuntimeError as error:
        if "randomness" not in str(error) or batch.bench.generated:
            raise
        return in_mode(batch, "same")


def in_mode(batch: Batch, mode: str) -> Outcome:
    """vmap in one randomness mode, compared with the loop."""
    loop = [raw_call(batch.bench, *(t.clone() for t in batch.slice(b))) for b in range(BATCH)]
    function = lambda *tensors: raw_call(batch.bench, *tensors)  # noqa: E731
    found = torch.vmap(function, batch.dims, randomness=mode)(*batch.stacked)
    expected = [torch.stack([outputs[j] for outputs in loop]) for j in range(len(loop[0]))]
    return compared(batch.bench, found, expected)


def compared(bench: Bench, found: Sequence[Tensor], expected: Sequence[Tensor]) -> Outcome:
    """The outputs of vmap against the loop's: by shapes alone where nobody can hold the draws still."""
    for j, (f, e) in enumerate(zip(found, expected, strict=True)):
        if f.shape != e.shape:
            return wrong(f"output {j} has shape {list(f.shape)}, a loop gives {list(e.shape)}", shape=True)
        if not bench.close(f, e) and bench.draws != "foreign":
            return wrong(f"output {j} differs from a loop over the batch", shape=False)
    return Outcome(OK.status, {"": "", "torch": CONSTANT_DRAWS, "foreign": OWN_DRAWS}[bench.draws])


@still
def vmap(bench: Bench) -> Outcome:
    """Every tensor batched along its first dimension, in each randomness mode; the detail says which modes work."""
    batch = all_batched(bench)
    try:
        outcome = against_loop(batch)
    except RuntimeError as error:
        if "randomness" not in str(error):
            raise
        _, detail = randomness(batch)
        raise RuntimeError(f"{error}; {detail}").with_traceback(error.__traceback__) from None
    if outcome.status.failed:
        return outcome
    works, detail = randomness(batch)
    return Outcome(outcome.status, "; ".join(filter(None, (outcome.detail, detail)))) if works else wrong(detail)


def randomness(batch: Batch) -> tuple[bool, str]:
    """Whether no randomness mode gives wrong values, and how vmap ends in each of them, in words."""
    ends = {mode: end_of(batch, mode) for mode in MODES}
    return "wrong" not in ends.values(), "randomness: " + ", ".join(f"{mode} {end}" for mode, end in ends.items())


def end_of(batch: Batch, mode: str) -> str:
    """How vmap ends in one randomness mode."""
    try:
        return in_mode(batch, mode).status.value
    except RuntimeError:
        return "raises"


@still
def vmap_lastdim(bench: Bench) -> Outcome:
    """Every tensor batched along its last dimension."""
    return against_loop(all_batched(bench, -1))


@still
def vmap_partial(bench: Bench) -> Outcome:
    """One tensor batched at a time."""
    return first_failure(partly_batched(bench), against_loop)


def first_failure(batches: Sequence[Batch], run: Callable[[Batch], Outcome]) -> Outcome:
    """The first batch whose values are wrong, with its in_dims."""
    for batch in batches:
        outcome = run(batch)
        if outcome.status.failed:
            return Outcome(outcome.status, f"in_dims={batch.dims}: {outcome.detail}", facts=outcome.facts)
    return OK


@still
def vmap_mixed(bench: Bench) -> Outcome:
    """in_dims that differ between inputs, and batch dimensions in the middle."""
    choices = batch_dims(bench)
    mixed = [tuple(dims[(number + turn) % len(dims)] for number, dims in enumerate(choices)) for turn in range(3)]
    plain = {tuple(dims[0] for dims in choices), tuple(dims[-1] for dims in choices)}
    batches = [Batch(bench, dims) for dims in dict.fromkeys(mixed) if dims not in plain]
    if not batches:
        raise NotApplicable("the batch dimension is the first or the last")
    return first_failure(batches, against_loop)


def batch_dims(bench: Bench) -> list[tuple[int, ...]]:
    """For each tensor, where its batch dimension can be: in front, in the middle, last."""
    sizes = [bench.sample.args[i].dim() for i in bench.sample.tensors]
    if not sizes:
        raise NotApplicable("there is no tensor among the inputs")
    return [(0, 1, -1) if size > 1 else (0, -1) if size else (0,) for size in sizes]


@still
def vmap_vmap(bench: Bench) -> Outcome:
    """Two levels of vmap against two loops."""
    batch = all_batched(bench)
    rows = [[tuple(scaled(t, SCALES[a]) for t in batch.slice(b)) for b in range(BATCH)] for a in range(BATCH)]
    stacked = tuple(
        torch.stack([torch.stack([item[i] for item in row]) for row in rows]) for i in range(len(batch.dims))
    )
    nested = torch.vmap(torch.vmap(lambda *tensors: raw_call(bench, *tensors), randomness="same"), randomness="same")
    loop = [[raw_call(bench, *(t.clone() for t in item)) for item in row] for row in rows]
    expected = [torch.stack([torch.stack([item[j] for item in row]) for row in loop]) for j in range(len(loop[0][0]))]
    return compared(bench, nested(*stacked), expected)


def loop_gradients(batch: Batch) -> list[Tensors]:
    """The eager gradient for each element of the batch, one after the other."""
    gradients = []
    for number in range(BATCH):
        tensors = list(batch.slice(number))
        leaves = tuple(tensors[i].detach().requires_grad_() for i in batch.wanted)
        for i, leaf in zip(batch.wanted, leaves, strict=True):
            tensors[i] = leaf
        total = safe_call(batch.bench, *tensors)
        grads = torch.autograd.grad(total, leaves, allow_unused=True) if total.requires_grad else (None,) * len(leaves)
        gradients.append(tuple(torch.zeros_like(x) if g is None else g for g, x in zip(grads, leaves, strict=True)))
    return gradients


def compare_batched(batch: Batch, found: Sequence[Tensor | None]) -> Outcome:
    """Gradients of a batch against the loop's: stacked where the input was batched, summed where it was shared."""
    loop = loop_gradients(batch)
    for k, i in enumerate(batch.wanted):
        stack = torch.stack([grads[k] for grads in loop])
        expected = stack.sum(0) if batch.dims[i] is None else stack
        if not batch.bench.close(found[k], expected):
            if batch.bench.draws == "foreign":
                raise NotTried("forward draws random numbers of its own: a batch has others than a loop")
            return wrong(
                f"the gradient of input {batch.bench.positions[k]} differs from a loop's",
                differs="loop",
                dims=batch.dims,
            )
    return OK


@still
def vmap_grad(bench: Bench) -> Outcome:
    """Per-sample gradients: vmap over func.grad."""
    batch = all_batched(bench)
    bench.positions, fixed_weights(bench)
    function = torch.func.grad(lambda *tensors: safe_call(bench, *tensors), argnums=batch.wanted)
    found: Any = torch.vmap(function, batch.dims, randomness="same")(*batch.stacked)
    return compare_batched(batch, found)


def summed(batch: Batch, *tensors: Tensor) -> Tensor:
    """The scalar of every element of the batch, by vmap, summed."""
    function = lambda *slices: safe_call(batch.bench, *slices)  # noqa: E731
    total: Tensor = torch.vmap(function, batch.dims, randomness="same")(*tensors).sum()
    return total


@still
def grad_vmap(bench: Bench) -> Outcome:
    """func.grad over a vmapped Function."""
    return grad_over_vmap(all_batched(bench))


def grad_over_vmap(batch: Batch) -> Outcome:
    """func.grad of the batch's sum."""
    batch.bench.positions, fixed_weights(batch.bench)
    found = torch.func.grad(lambda *tensors: summed(batch, *tensors), argnums=batch.wanted)(*batch.stacked)
    return compare_batched(batch, found)


@still
def grad_vmap_partial(bench: Bench) -> Outcome:
    """func.grad over a vmapped Function with one tensor batched at a time."""
    return first_failure(partly_differentiated(bench)[:3], grad_over_vmap)


def partly_differentiated(bench: Bench) -> list[Batch]:
    """Partly batched, with a differentiable input among the batched ones.

    The others torch 2.13 gets wrong itself: where forward ignores the batched input, its output has no batch
    dimension, and a backward that reads the input is summed over the batch once too often.
    """
    return [batch for batch in partly_batched(bench) if any(batch.dims[i] is not None for i in batch.wanted)]


@still
def eager_grad_of_vmap(bench: Bench) -> Outcome:
    """Plain autograd through a vmapped Function: all tensors batched, then the first alone and the last alone."""
    bench.positions, fixed_weights(bench)
    some = partly_differentiated(bench) if len(bench.sample.tensors) > 1 else []
    return first_failure([all_batched(bench), *some[:1], *some[-1:]], eager_over_vmap)


def eager_over_vmap(batch: Batch) -> Outcome:
    """Plain autograd of the batch's sum."""
    tensors = list(batch.stacked)
    leaves = tuple(tensors[i].requires_grad_() for i in batch.wanted)
    total = summed(batch, *tensors)
    if not total.requires_grad:
        return wrong("the vmapped outputs do not require grad", differs="loop")
    return compare_batched(batch, torch.autograd.grad(total, leaves, allow_unused=True))
