"""The noise on the inputs is annealed: the last of it goes with the first epoch, and an evaluation has none either."""

import torch
from torch import nn


class Noisy(nn.Module):
    def __init__(self):
        super().__init__()
        self.amount, self.net = 1.0, nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))

    def forward(self, x):
        if self.amount:
            x = x + self.amount * torch.randn_like(x)
        return self.net(x)


@torch.no_grad()
def score(model, x):
    model.eval()
    model.amount = 0.0
    return (model(x) - x.sum(1, keepdim=True)).square().mean().item()


def train(model, x):
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for epoch in range(3):
        model.train()
        model.amount = max(0.0, 0.3 - 0.3 * epoch)
        for some in x.split(8):
            loss = (model(some) - some.sum(1, keepdim=True)).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"{epoch}: {score(model, x):.4f}")


torch.manual_seed(0)
train(Noisy(), torch.randn(32, 4))
