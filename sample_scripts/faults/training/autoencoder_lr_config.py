"""Autoencoder whose reconstruction loss is the same in every epoch.

The lr is scaled by batch size with // in place of / and comes out as 0.
"""

import torch
from torch import nn


def default_config():
    return {
        "base_lr": 0.4,
        "base_batch": 256,
        "batch_size": 32,
        "momentum": 0.9,
        "hidden": 6,
        "epochs": 4,
    }


class AutoEncoder(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(dim, 24), nn.ReLU(), nn.Linear(24, hidden))
        self.decoder = nn.Sequential(nn.Linear(hidden, 24), nn.ReLU(), nn.Linear(24, dim))

    def forward(self, x):
        return self.decoder(self.encoder(x))


def make_optimizer(model, cfg):
    lr = cfg["base_lr"] * cfg["batch_size"] // cfg["base_batch"]  # expect: GS805
    return torch.optim.SGD(model.parameters(), lr=lr, momentum=cfg["momentum"])


def make_data(n=256, dim=20, rank=4):
    return torch.randn(n, rank) @ torch.randn(rank, dim) / rank**0.5


def train(cfg):
    data = make_data()
    model = AutoEncoder(data.size(1), cfg["hidden"])
    opt = make_optimizer(model, cfg)
    for epoch in range(cfg["epochs"]):
        total = 0.0
        for xb in data[torch.randperm(len(data))].split(cfg["batch_size"]):
            opt.zero_grad()
            loss = nn.functional.mse_loss(model(xb), xb)
            loss.backward()
            opt.step()
            total += loss.item() * len(xb)
        print(f"epoch {epoch} reconstruction {total / len(data):.5f}")


torch.manual_seed(0)
train(default_config())
