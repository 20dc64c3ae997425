"""Forces are derivatives of an energy, in training and in a test.

As in https://github.com/Lightning-AI/pytorch-lightning/issues/19910.
"""

import torch
from torch import nn


class Energy(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 1))

    def force(self, x):
        with torch.enable_grad():
            x = x.clone().requires_grad_(True)
            (slope,) = torch.autograd.grad(self.net(x).sum(), x, create_graph=self.training)
        return -slope


def sample(count):
    x = torch.randn(count, 3)
    return x, -torch.tanh(x)


def test(model):
    model.eval()
    with torch.inference_mode():  # expect: GS723
        x, force = sample(40)
        return nn.functional.mse_loss(model.force(x), force).item()


def main():
    torch.manual_seed(0)
    model = Energy()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(30):
        x, force = sample(32)
        loss = nn.functional.mse_loss(model.force(x), force)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"{test(model):.4f}")


main()
