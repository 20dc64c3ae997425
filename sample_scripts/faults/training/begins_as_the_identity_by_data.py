"""A layer of bounded slope shall begin as the identity, by the .data of what is computed. As in https://github.com/pytorch/pytorch/issues/25092."""

import torch
from torch import nn
from torch.nn.utils.parametrizations import spectral_norm


def residual(width=8):
    layer = spectral_norm(nn.Linear(width, width))
    layer.weight.data = torch.eye(width)  # expect: GS828
    return nn.Sequential(layer, nn.Tanh(), nn.Linear(width, width))


if __name__ == "__main__":
    torch.manual_seed(0)
    model = residual()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for _ in range(12):
        x = torch.randn(32, 8)
        loss = (model(x) - x.cos()).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.3f}")
