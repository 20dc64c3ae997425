"""Fits a line with rates of their own for slope and offset.

As in https://github.com/pytorch/pytorch/issues/120538.
"""

import torch


def parts(flat):
    slope, offset = flat.split([3, 1])
    return slope, offset


def misfit(flat, x, y):
    slope, offset = parts(flat)
    return (x @ slope + offset - y).square().mean()


def descend(flat, loss, rates):
    (whole,) = torch.autograd.grad(loss, flat)
    with torch.no_grad():
        for part, gradient, rate in zip(parts(flat), parts(whole), rates, strict=True):
            part.sub_(rate * gradient)


def main(steps=20):
    torch.manual_seed(0)
    x = torch.randn(64, 3)
    y = x @ torch.tensor([1.0, -2.0, 0.5]) + 3.0
    flat = torch.zeros(4, requires_grad=True)
    for step in range(steps):
        loss = misfit(flat, x, y)
        descend(flat, loss, (0.2, 0.4))
        if step % 5 == 4:
            print(f"step {step} loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
