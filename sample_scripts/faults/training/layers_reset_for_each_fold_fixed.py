"""Normalised layers are built anew for each fold. As in https://github.com/pytorch/pytorch/issues/25092."""

import torch
from torch import nn
from torch.nn.utils.parametrizations import weight_norm


class Net(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.body, self.head = weight_norm(nn.Linear(width, 16)), nn.Linear(16, width)

    def forward(self, x):
        return self.head(self.body(x).relu())


def fitted(net, x, steps=8):
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
    for _ in range(steps):
        loss = (net(x) - x.cos()).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


if __name__ == "__main__":
    torch.manual_seed(0)
    for fold in torch.randn(64, 8).chunk(2):
        print(f"loss {fitted(Net(), fold):.3f}")
