"""A classifier in two parts; the second one scores what the first one made of the input."""

import torch
from torch import nn


class Parts(nn.Module):
    def __init__(self, inputs, width=12):
        super().__init__()
        self.encode = nn.Sequential(nn.Linear(inputs, width), nn.Tanh())
        self.decode = nn.Linear(width, 2)

    def forward(self, x):  # expect: GS864
        state = self.encode(x)
        scores = self.decode(state)


def main():
    torch.manual_seed(0)
    model = Parts(4)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for step in range(10):
        x = torch.randn(16, 4)
        loss = nn.functional.cross_entropy(model(x), (x[:, 0] > 0).long())  # expect: GS864 fails_at
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
