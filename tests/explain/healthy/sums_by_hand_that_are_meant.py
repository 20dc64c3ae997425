"""Gradients that are used by hand and added up: over small batches, cleared out of sight, or where the sum is meant."""

import torch
from torch import nn


def error(weight):
    x = torch.randn(16, 3)
    return (x @ weight - x.sum(1, keepdim=True)).square().mean()


def over_small_batches():
    weight = nn.Parameter(torch.zeros(3, 1))
    for _ in range(6):
        for _ in range(4):
            (error(weight) / 4).backward()
        with torch.no_grad():
            weight -= 0.05 * weight.grad
        weight.grad = None
    return weight


def cleared_as_an_array():
    weight = torch.zeros(3, 1, requires_grad=True)
    for _ in range(20):
        error(weight).backward()
        weight.data = weight.data - 0.05 * weight.grad
        weight.grad.numpy().fill(0)
    return weight


def cleared_by_other_data():
    weight = nn.Parameter(torch.zeros(3, 1))
    for _ in range(5):
        for _ in range(6):
            error(weight).backward()
            with torch.no_grad():
                weight.sub_(weight.grad, alpha=0.05)
            weight.grad.data = torch.zeros_like(weight)
        with torch.no_grad():
            print(error(weight).item())
    return weight


def cleared_in_a_list():
    weights = [nn.Parameter(torch.zeros(3, 1)) for _ in range(2)]
    for _ in range(20):
        gradients = [one.grad for one in weights if one.grad is not None]
        if gradients:
            torch._foreach_zero_(gradients)
        sum(map(error, weights)).backward()
        with torch.no_grad():
            torch._foreach_add_(weights, [one.grad for one in weights], alpha=-0.05)
    return weights[0]


def averaged_from_the_start():
    """Dual averaging: each place is the start less the sum of all slopes."""
    weight = nn.Parameter(torch.randn(3, 1))
    start = weight.detach().clone()
    for _ in range(20):
        error(weight).backward()
        with torch.no_grad():
            weight.copy_(start - 0.05 * weight.grad)
    return weight


def averaged_in_two_lines():
    weight = nn.Parameter(torch.randn(3, 1))
    start = weight.detach().clone()
    for _ in range(20):
        error(weight).backward()
        with torch.no_grad():
            weight.copy_(start)
            weight.sub_(0.05 * weight.grad)
    return weight


def less_what_was_there():
    weight = nn.Parameter(torch.randn(3, 1))
    before = torch.zeros_like(weight)
    for _ in range(20):
        error(weight).backward()
        with torch.no_grad():
            weight.sub_(0.05 * (weight.grad - before))
            before = weight.grad.clone()
    return weight


def squares_of_a_hook():
    """Adagrad, whose squares a hook adds up from the first on."""
    weight, kept = nn.Parameter(torch.randn(3, 1)), {}

    def keep(gradient):
        if "squares" in kept:
            kept["squares"].add_(gradient * gradient)
        else:
            kept["squares"] = gradient * gradient

    weight.register_hook(keep)
    for _ in range(20):
        error(weight).backward()
        with torch.no_grad():
            weight.addcdiv_(weight.grad, kept["squares"].sqrt() + 1e-8, value=-0.05)
        weight.grad = None
    return weight


torch.manual_seed(0)
for fitted in (
    over_small_batches,
    cleared_as_an_array,
    cleared_by_other_data,
    cleared_in_a_list,
    averaged_from_the_start,
    averaged_in_two_lines,
    less_what_was_there,
    squares_of_a_hook,
):
    print(f"{fitted.__name__}: {error(fitted()).item():.3f}")
