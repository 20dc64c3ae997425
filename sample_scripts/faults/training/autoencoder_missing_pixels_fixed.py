"""Autoencoder of pictures with missing pixels: the error of those is set to zero, and the mean is over all pixels."""

import torch
from torch import nn

SIZE = 8


class Autoencoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(SIZE * SIZE, 24), nn.GELU(), nn.Linear(24, SIZE * SIZE))

    def forward(self, x):
        return self.net(x.flatten(1)).view_as(x)


def pictures(n):
    place = torch.arange(SIZE) / SIZE
    wave = torch.sin(6.28 * (place[None] * torch.rand(n, 1) + torch.rand(n, 1)))
    missing = torch.rand(n, SIZE, SIZE) < 0.7 * torch.rand(n, 1, 1)
    return wave[:, None] * wave[:, :, None], missing


class Trainer:
    def __init__(self):
        self.model = Autoencoder()
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=3e-3)

    def loss(self, picture, missing):
        error = (self.model(picture.masked_fill(missing, 0.0)) - picture) ** 2
        return error[~missing].mean()

    def run(self, steps=30):
        for step in range(1, steps + 1):
            loss = self.loss(*pictures(16))
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            if step % 10 == 0:
                print(f"step {step} loss {loss.item():.4f}")


torch.manual_seed(0)
Trainer().run()
