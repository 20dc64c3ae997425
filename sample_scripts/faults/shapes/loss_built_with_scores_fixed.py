"""A first classifier, its loss taken from torch.nn."""
# as in https://openillumi.com/?p=10155

import torch
from torch import nn


def train(model, batches, steps):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(steps):
        x, y = batches()
        scores = model(x)
        loss = nn.CrossEntropyLoss()(scores, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"step {step} loss {loss.item():.3f}")


def batches():
    x = torch.randn(16, 6)
    return x, x[:, :3].argmax(1)


def main():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 3))
    train(model, batches, 6)


if __name__ == "__main__":
    main()
