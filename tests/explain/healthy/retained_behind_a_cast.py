"""Sensitivities of a simulation to its inputs, which were cast: the result is told to retain its gradient."""

import torch


def main():
    torch.manual_seed(0)
    inputs = torch.randn(5, requires_grad=True).double()
    inputs.retain_grad()
    for _ in range(3):
        torch.sin(inputs + torch.randn(5, dtype=torch.float64)).sum().backward()
    print(inputs.grad)


if __name__ == "__main__":
    main()
