"""Evaluates once before training, to have something to compare with."""
# as in https://www.javascriptcn.com/post/606ee36f2d2a29a3c12022e4

import torch
from torch import nn


def evaluate(model, x, y):
    model.eval()
    with torch.no_grad():
        return nn.functional.mse_loss(model(x), y).item()


def main():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    held = torch.randn(64, 4) * 3 + 2
    print(f"before: {evaluate(model, held, held.sum(1, keepdim=True)):.3f}")
    for epoch in range(4):
        model.train()
        for _ in range(6):
            x = torch.randn(32, 4) * 3 + 2
            loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch}: {evaluate(model, held, held.sum(1, keepdim=True)):.3f}")


if __name__ == "__main__":
    main()
