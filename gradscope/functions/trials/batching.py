"""vmap trials against a Python loop.

Inputs go in untouched, because an operator before the Function would move the batch dimension to the front.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from gradscope.functions.inputs.sample import tensors_in
from gradscope.functions.trials.bench import Bench, Tensors, seeded
from gradscope.functions.trials.outcome import OK, NotApplicable, Outcome, wrong

SCALES = (1.0, 0.9, 1.1)
BATCH = len(SCALES)
MODES = ("error", "different", "same")
OWN_DRAWS = "shapes only, because forward draws random numbers"


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


def against_loop(batch: Batch) -> Outcome:
    """vmap over one batch, compared with the loop; a rule by hand that refuses random numbers is tried with "same"."""
    try:
        return in_mode(batch, "error")
    except RuntimeError as error:
        if "randomness" not in str(error) or batch.bench.generated:
            raise
        return in_mode(batch, "same")


def in_mode(batch: Batch, mode: str) -> Outcome:
    """vmap in one randomness mode, compared with the loop: by shapes alone where every element draws its own."""
    bench = batch.bench
    loop = [raw_call(bench, *(t.clone() for t in batch.slice(b))) for b in range(BATCH)]
    expected = [torch.stack([outputs[j] for outputs in loop]) for j in range(len(loop[0]))]
    torch.manual_seed(20)
    found = torch.vmap(lambda *tensors: raw_call(bench, *tensors), batch.dims, randomness=mode)(*batch.stacked)
    for j, (f, e) in enumerate(zip(found, expected, strict=True)):
        if f.shape != e.shape:
            return wrong(f"output {j} has shape {list(f.shape)}, a loop gives {list(e.shape)}", shape=True)
        if not bench.close(f, e):
            if draws_its_own(bench, mode):
                return Outcome(OK.status, OWN_DRAWS)
            return wrong(f"output {j} differs from a loop over the batch", shape=False)
    return OK


def draws_its_own(bench: Bench, mode: str = "same") -> bool:
    """Whether each element of a batch has random numbers that no loop with a fixed random state draws.

    A rule by hand runs outside of its own vmap, where one draw is for the whole batch.
    """
    return bench.random and (mode == "different" or not bench.generated)


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


def vmap_lastdim(bench: Bench) -> Outcome:
    """Every tensor batched along its last dimension."""
    return against_loop(all_batched(bench, -1))


def vmap_partial(bench: Bench) -> Outcome:
    """One tensor batched at a time."""
    for batch in partly_batched(bench):
        outcome = against_loop(batch)
        if outcome.status.failed:
            return Outcome(outcome.status, f"in_dims={batch.dims}: {outcome.detail}", facts=outcome.facts)
    return OK


def vmap_vmap(bench: Bench) -> Outcome:
    """Two levels of vmap against two loops."""
    batch = all_batched(bench)
    rows = [[tuple(scaled(t, SCALES[a]) for t in batch.slice(b)) for b in range(BATCH)] for a in range(BATCH)]
    stacked = tuple(
        torch.stack([torch.stack([item[i] for item in row]) for row in rows]) for i in range(len(batch.dims))
    )
    loop = [[raw_call(bench, *(t.clone() for t in item)) for item in row] for row in rows]
    expected = [torch.stack([torch.stack([item[j] for item in row]) for row in loop]) for j in range(len(loop[0][0]))]
    nested = torch.vmap(torch.vmap(lambda *tensors: raw_call(bench, *tensors), randomness="same"), randomness="same")
    if bench.all_close(nested(*stacked), expected):
        return OK
    if draws_its_own(bench):
        raise NotApplicable("forward draws random numbers: a batch has others than a loop")
    return wrong("differs from two loops")


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
            if draws_its_own(batch.bench):
                raise NotApplicable("forward draws random numbers: a batch has others than a loop")
            return wrong(
                f"the gradient of input {batch.bench.positions[k]} differs from a loop's",
                differs="loop",
                dims=batch.dims,
            )
    return OK


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


def grad_vmap(bench: Bench) -> Outcome:
    """func.grad over a vmapped Function."""
    return grad_over_vmap(all_batched(bench))


def grad_over_vmap(batch: Batch) -> Outcome:
    """func.grad of the batch's sum."""
    batch.bench.positions, fixed_weights(batch.bench)
    found = torch.func.grad(lambda *tensors: summed(batch, *tensors), argnums=batch.wanted)(*batch.stacked)
    return compare_batched(batch, found)


def grad_vmap_partial(bench: Bench) -> Outcome:
    """func.grad over a vmapped Function with one tensor batched at a time."""
    wanted = [batch for batch in partly_batched(bench) if any(batch.dims[i] is not None for i in batch.wanted)]
    for batch in wanted[:3]:
        outcome = grad_over_vmap(batch)
        if outcome.status.failed:
            return Outcome(outcome.status, f"in_dims={batch.dims}: {outcome.detail}", facts=outcome.facts)
    return OK


def eager_grad_of_vmap(bench: Bench) -> Outcome:
    """Plain autograd through a vmapped Function, first with all tensors batched and then with some."""
    batch = all_batched(bench)
    bench.positions, fixed_weights(bench)
    tensors = list(batch.stacked)
    leaves = tuple(tensors[i].requires_grad_() for i in batch.wanted)
    total = summed(batch, *tensors)
    if not total.requires_grad:
        return wrong("the vmapped outputs do not require grad", differs="loop")
    return compare_batched(batch, torch.autograd.grad(total, leaves, allow_unused=True))
