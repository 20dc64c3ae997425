"""Four regressions in one stack of weights, each stepped by hand with a rate of its own.

As in https://github.com/pytorch/pytorch/issues/120538.
"""

import torch

RATES = (0.3, 0.1, 0.03, 0.01)


def losses_of(weights, x, y):
    return (torch.einsum("nd,md->mn", x, weights) - y).pow(2).mean(1)


def step(weights, losses):
    for member, rate in enumerate(RATES):
        (slopes,) = torch.autograd.grad(losses[member], weights, retain_graph=True)
        with torch.no_grad():
            weights[member] -= rate * slopes[member]


def main(steps=20):
    torch.manual_seed(0)
    truth = torch.randn(6)
    weights = torch.zeros(len(RATES), 6, requires_grad=True)
    for number in range(steps):
        x = torch.randn(32, 6)
        losses = losses_of(weights, x, x @ truth)
        step(weights, losses)
        if number % 5 == 0:
            print(f"step {number:2d} losses", " ".join(f"{one:.3f}" for one in losses.tolist()))


if __name__ == "__main__":
    main()
