"""A chain of tests sorts adapters out of a large model, all else of which rests."""

import torch
from torch import nn


class Adapted(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.base = nn.Linear(inputs, outputs, bias=False)
        self.down = nn.Parameter(torch.randn(inputs, 1) * 0.1)
        self.up = nn.Parameter(torch.zeros(1, outputs))

    def forward(self, x):
        return self.base(x) + x @ self.down @ self.up


def adapters(model):
    slow, fast = [], []
    for name, tensor in model.named_parameters():
        if name.endswith("down"):
            slow.append(tensor)
        elif name.endswith("up"):
            fast.append(tensor)
    return [{"params": slow, "lr": 0.01}, {"params": fast, "lr": 0.1}]


def main():
    torch.manual_seed(0)
    model = nn.Sequential(Adapted(6, 8), nn.Tanh(), Adapted(8, 2))
    optimizer = torch.optim.Adam(adapters(model))
    for _ in range(20):
        x = torch.randn(32, 6)
        loss = (model(x) - x[:, :2]).square().mean()
        model.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"{loss.item():.4f}")


main()
