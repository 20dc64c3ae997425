"""A decay curve is fitted by hand; its numbers are set to be learnt, as doubles.

As in https://github.com/pytorch/pytorch/issues/12627.
"""

import torch


def begin(*values):
    return [torch.tensor(value, dtype=torch.float64, requires_grad=True) for value in values]


def curve(numbers, times):
    height, rate, floor = numbers
    return height.exp() * torch.exp(-rate.exp() * times) + floor


def step(numbers, rate):
    with torch.no_grad():
        for one in numbers:
            if one.grad is not None:
                one -= rate * one.grad
                one.grad = None


def main(steps=60):
    torch.manual_seed(0)
    times = torch.linspace(0, 4, 50, dtype=torch.float64)
    measured = 2.0 * torch.exp(-1.5 * times) + 0.3 + 0.02 * torch.randn(50, dtype=torch.float64)
    numbers = begin(0.0, 0.0, 0.0)
    for _ in range(steps):
        loss = (curve(numbers, times) - measured).square().mean()
        loss.backward()
        step(numbers, 0.3)
    print(f"loss {loss.item():.4f}", [round(one.item(), 2) for one in numbers])


if __name__ == "__main__":
    main()
