"""Autoencoder trainer with one optimizer per part, the second is given the whole autoencoder instead of the
decoder: encoder weights get two updates from one backward.
"""

import torch
from torch import nn


class AutoEncoder(nn.Module):
    def __init__(self, d=32, k=3):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(d, 24), nn.ELU(), nn.Linear(24, k))
        self.decoder = nn.Sequential(nn.Linear(k, 24), nn.ELU(), nn.Linear(24, d))

    def forward(self, x):
        return self.decoder(self.encoder(x))


class AETrainer:
    def __init__(self, model):
        self.model = model
        self.optimizers = {
            "enc": torch.optim.Adam(model.encoder.parameters(), lr=5e-3),
            "dec": torch.optim.Adam(model.decoder.parameters(), lr=5e-3),
        }
        self.loss_fn = nn.MSELoss()

    def training_step(self, x):
        for o in self.optimizers.values():
            o.zero_grad()
        loss = self.loss_fn(self.model(x), x)
        loss.backward()
        for o in self.optimizers.values():
            o.step()
        return loss.item()

    def fit(self, data, epochs, bs):
        for epoch in range(epochs):
            losses = []
            for x in data[torch.randperm(len(data))].split(bs):
                losses.append(self.training_step(x))
            print(f"epoch {epoch} mse {sum(losses) / len(losses):.4f}")


def curve_data(n=240, d=32):
    t = torch.linspace(0, 6.28, d)
    a, b, c = torch.randn(3, n, 1)
    return a * torch.sin(t) + b * torch.cos(t) + 0.3 * c * torch.sin(2 * t)


if __name__ == "__main__":
    torch.manual_seed(0)
    AETrainer(AutoEncoder()).fit(curve_data(), epochs=6, bs=40)
