"""Fits a line by gradient descent with momentum; the rate is an option."""
# as in https://github.com/gurkirt/FPN.pytorch1.0/issues/7

import argparse

import torch
from torch import nn


def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--base-rate", type=float, default=0.03)
    return parser.parse_args()


def main():
    args = options()
    torch.manual_seed(0)
    model = nn.Linear(6, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.base_rate, momentum=0.9)
    x = torch.randn(64, 6)
    y = x.sum(1, keepdim=True)
    for _ in range(args.epochs):
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
