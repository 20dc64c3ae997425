"""Inputs that a spec cannot say: lists of arguments for Functions of the corpus, as their packages call them.

Each function gives one tuple of arguments. Tensors that require grad are marked where not all of them do.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

Arguments = tuple[Any, ...]


def normal(*shape: int) -> Tensor:
    """Normal values, others for each shape."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(1 + len(shape) + sum(shape)))


def positive(*shape: int) -> Tensor:
    """Values between a half and one and a half."""
    return torch.rand(*shape, generator=torch.Generator().manual_seed(2 + sum(shape))) + 0.5


def wanted(value: Tensor) -> Tensor:
    """The tensor, requiring grad."""
    return value.detach().clone(memory_format=torch.contiguous_format).requires_grad_()


def definite(size: int) -> Tensor:
    """A positive definite matrix."""
    root = normal(size, size)
    return root @ root.mT + size * torch.eye(size)


def symmetric() -> Arguments:
    """A symmetric matrix."""
    return (definite(4),)


def quadratic() -> Arguments:
    """A symmetric matrix and columns on both sides of it."""
    return wanted(definite(4)), wanted(normal(4, 3))


def levels() -> Arguments:
    """Values, and the levels that they are rounded to."""
    return wanted(normal(3, 4)), torch.linspace(-2, 2, 5)


def sparse_max_grad() -> Arguments:
    """A point of the simplex, and the dimension as the tensor that is saved."""
    return wanted(torch.softmax(normal(3, 4), -1)), torch.tensor(-1)


def unchecked_assign() -> Arguments:
    """A buffer, what is put into it, and where."""
    return normal(3, 4), normal(3), (..., 1)


def bisection() -> Arguments:
    """A rising function, the values whose arguments are sought, bounds, steps."""
    return (lambda x: x**3 + x), wanted(normal(3, 4)), torch.full((3, 4), -4.0), torch.full((3, 4), 4.0), 60


def gauss_legendre() -> Arguments:
    """A smooth function, two limits, the number of nodes."""
    return torch.sin, wanted(normal(3, 4)), wanted(normal(3, 4) + 1), 12


def squared_distances(first: Tensor, second: Tensor) -> Tensor:
    """Of all pairs."""
    return (first.unsqueeze(-2) - second.unsqueeze(-3)).square().sum(-1)


def distances(first: Tensor, second: Tensor) -> Tensor:
    """Of all pairs."""
    return squared_distances(first, second).clamp_min(1e-15).sqrt()


def rbf() -> Arguments:
    """Points of which only the length scale is learned."""
    return normal(3, 2), normal(4, 2), wanted(positive(1, 1)), squared_distances


def matern() -> Arguments:
    """Points of which only the length scale is learned."""
    return normal(3, 2), normal(4, 2), wanted(positive(1, 1)), 1.5, distances


def natural() -> Arguments:
    """Natural parameters of a normal distribution."""
    return wanted(normal(4)), wanted(-definite(4) / 2)


def tril_natural() -> Arguments:
    """Natural parameters, the matrix by its triangular factor."""
    return wanted(normal(4)), wanted(torch.linalg.cholesky(definite(4)).contiguous())


def target_log_softmax() -> Arguments:
    """Scores of classes at positions, the right classes, which positions count."""
    target = torch.randint(0, 3, (2, 4, 4), generator=torch.Generator().manual_seed(0))
    return wanted(normal(2, 3, 4, 4)), target.unsqueeze(1), torch.ones(2, 1, 4, 4, dtype=torch.bool)


def avf() -> Arguments:
    """Of a normal distribution: mean, factor, control variates, how many."""
    return wanted(normal(3)), wanted(torch.linalg.cholesky(definite(3))), wanted(normal(2, 1, 3)), torch.Size((5, 3))


def omt() -> Arguments:
    """Of a normal distribution: mean, factor, how many."""
    return wanted(normal(3)), wanted(torch.linalg.cholesky(definite(3))), torch.Size((5, 3))


def mixture() -> Arguments:
    """Of a mixture: means, scales, weights, which component was drawn."""
    logits = normal(3)
    which = torch.tensor([0, 2, 1, 0])
    return (
        wanted(normal(3, 2)),
        wanted(positive(3, 2)),
        wanted(logits),
        torch.softmax(logits, -1),
        which,
        torch.Size((4, 2)),
    )


def shared_mixture() -> Arguments:
    """Of a mixture with one scale: means, scale, weights, which component was drawn."""
    logits = normal(3)
    which = torch.tensor([0, 2, 1, 0])
    return (
        wanted(normal(3, 2)),
        wanted(positive(2)),
        wanted(logits),
        torch.softmax(logits, -1),
        which,
        torch.Size((4, 2)),
    )


def probabilities() -> Arguments:
    """Probabilities."""
    return (torch.softmax(normal(3, 4), -1),)


def bitshift() -> Arguments:
    """Membrane potentials and their decay."""
    return wanted(normal(3, 4)), torch.full((4,), 3.0), torch.full((4,), 0.02)


def sparse_cross_entropy() -> Arguments:
    """Scores, the right classes as pairs, no weights."""
    return wanted(normal(4, 5)), torch.tensor([[0, 1, 2, 3], [1, 0, 4, 2]]), None


def revgrad() -> Arguments:
    """Values, and the factor as the tensor that is saved."""
    return wanted(normal(3, 4)), torch.tensor(0.5)


def filters(length: int = 4) -> tuple[Tensor, Tensor]:
    """A lowpass and a highpass filter."""
    low = normal(length)
    return low, normal(length).flip(0) * 0.5


def afb1d() -> Arguments:
    """A signal, its filters, zero padding."""
    low, high = filters()
    return wanted(normal(2, 1, 8)), low.reshape(1, 1, 4), high.reshape(1, 1, 4), 0


def sfb1d() -> Arguments:
    """Two halves of a signal, filters, zero padding."""
    low, high = filters()
    return wanted(normal(2, 1, 5)), wanted(normal(2, 1, 5) + 1), low.reshape(1, 1, 4), high.reshape(1, 1, 4), 0


def afb2d() -> Arguments:
    """An image, filters for rows and columns, zero padding."""
    low, high = filters()
    row, column = (1, 1, 1, 4), (1, 1, 4, 1)
    return wanted(normal(1, 1, 8, 8)), low.reshape(row), high.reshape(row), low.reshape(column), high.reshape(column), 0


def sfb2d() -> Arguments:
    """A small image and its details, filters for rows and columns, zero padding."""
    low, high = filters()
    row, column = (1, 1, 1, 4), (1, 1, 4, 1)
    parts = (low.reshape(row), high.reshape(row), low.reshape(column), high.reshape(column))
    return wanted(normal(1, 1, 5, 5)), wanted(normal(1, 1, 3, 5, 5)), *parts, 0


def fwd_j1() -> Arguments:
    """An image and the filters of the first level."""
    low, high = (filter_ + filter_.flip(2) for filter_ in (normal(1, 1, 5, 1), normal(1, 1, 7, 1)))
    return wanted(normal(1, 1, 8, 8)), low, high, False, 2, -1, 0


def spikes() -> Arguments:
    """Membrane potentials, a threshold, a surrogate."""
    from sinabs.activation import SingleExponential

    return wanted(normal(3, 4)), 1.0, SingleExponential()


def max_spikes() -> Arguments:
    """Membrane potentials, the most spikes, a threshold, a surrogate."""
    from sinabs.activation import SingleExponential

    return wanted(normal(3, 4) * 3), 2, 1.0, SingleExponential()


def onnx_quantize() -> Arguments:
    """Values, a scale and a zero point."""
    return wanted(normal(3, 4)), torch.tensor(0.1), torch.tensor(0), 0


def loha() -> Arguments:
    """Factors of two matrices, and a scale."""
    return *map(wanted, (normal(4, 2), normal(2, 5), normal(4, 2) + 1, normal(2, 5) - 1)), torch.tensor(0.5)


def loha_cp() -> Arguments:
    """Factors of two tensors, and a scale."""
    core, first, second = (2, 2, 3, 3), (2, 4), (2, 5)
    parts = (normal(*core), normal(*first), normal(*second), normal(*core) + 1, normal(*first) + 1, normal(*second) + 1)
    return *map(wanted, parts), torch.tensor(0.5)


def warp() -> Arguments:
    """Scores, one right label each."""
    return wanted(normal(3, 5)), torch.eye(5)[:3], None


def lsq() -> Arguments:
    """Weights, a step for each row, bits, not by layer."""
    return wanted(normal(3, 4)), wanted(positive(3, 1) / 2), 4, False


def subnet() -> Arguments:
    """Scores, zeros, ones, how sparse."""
    return wanted(normal(3, 4)), torch.zeros(3, 4), torch.ones(3, 4), 0.5


def apply_mask() -> Arguments:
    """Weights and the mask that they are multiplied with."""
    return wanted(normal(3, 4)), wanted(normal(3, 4) + 1)


def leaky_integrator() -> Arguments:
    """A current, its decay, a state, a scale."""
    return wanted(normal(3, 4) * 50), wanted(torch.tensor(1024.0)), wanted(normal(3, 4) * 50), 64


def srm() -> Arguments:
    """Times of spikes and weights."""
    return wanted(positive(3, 4)), wanted(normal(4, 2))


def clamp() -> Arguments:
    """Values and the bounds of each."""
    return wanted(normal(3, 4)), torch.full((3, 4), -0.5), torch.full((3, 4), 0.5)


def lpc() -> Arguments:
    """A signal, coefficients, an initial state."""
    return wanted(normal(2, 6)), wanted(normal(2, 6, 2) / 5), wanted(normal(2, 2))


def join() -> Arguments:
    """A tensor and a phony one."""
    return wanted(normal(3, 4)), torch.empty(0)


def scale_mixture() -> Arguments:
    """Of a mixture of scales: coordinates' scale, weights, scales, which was drawn, coefficients."""
    logits = normal(2)
    return (
        wanted(positive(3)),
        wanted(logits),
        wanted(positive(2)),
        torch.softmax(logits, -1),
        torch.tensor([0, 1, 1, 0]),
        torch.Size((4, 3)),
        torch.tensor([1.0, 0.5]),
    )


def rotation() -> Tensor:
    """Two unit quaternions."""
    return torch.nn.functional.normalize(normal(2, 4), dim=-1)


def so3() -> Arguments:
    """Rotations."""
    return (rotation(),)


def se3() -> Arguments:
    """Rigid motions."""
    return (torch.cat((normal(2, 3), rotation()), -1),)


def sim3() -> Arguments:
    """Similarities."""
    return (torch.cat((normal(2, 3), rotation(), positive(2, 1)), -1),)


def rxso3() -> Arguments:
    """Rotations with a scale."""
    return (torch.cat((rotation(), positive(2, 1)), -1),)


def so3_act() -> Arguments:
    """Rotations and points."""
    return *so3(), normal(2, 3)


def se3_act() -> Arguments:
    """Rigid motions and points."""
    return *se3(), normal(2, 3)


def sim3_act() -> Arguments:
    """Similarities and points."""
    return *sim3(), normal(2, 3)


def rxso3_act() -> Arguments:
    """Rotations with a scale and points."""
    return *rxso3(), normal(2, 3)


def so3_mul() -> Arguments:
    """Two lists of rotations."""
    return *so3(), so3()[0].flip(0)


def se3_mul() -> Arguments:
    """Two lists of rigid motions."""
    return *se3(), se3()[0].flip(0)


def sim3_mul() -> Arguments:
    """Two lists of similarities."""
    return *sim3(), sim3()[0].flip(0)


def rxso3_mul() -> Arguments:
    """Two lists of rotations with a scale."""
    return *rxso3(), rxso3()[0].flip(0)
