"""Looks at what a model gives before it is trained, and builds it anew to begin from the same seed."""
# as in https://blog.gitcode.com/3ec123ad43da921deff784fd702ca18b.html

import torch
from torch import nn


class Clothes(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, width, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(2))
        self.head = nn.Linear(4 * width, 3)

    def forward(self, x):
        return self.head(self.features(x).flatten(1))


def build():
    model = Clothes(6)
    return model.train()


def main():
    torch.manual_seed(0)
    model = build()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with torch.no_grad():
        print(model(torch.randn(1, 1, 8, 8)).shape)
    for _ in range(8):
        x = torch.randn(16, 1, 8, 8)
        loss = nn.functional.cross_entropy(model(x), (x.mean((1, 2, 3)) > 0).long())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
