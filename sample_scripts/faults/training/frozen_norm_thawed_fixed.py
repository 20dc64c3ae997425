"""The twin of frozen_norm_thawed.py: the encoder is put to rest after each train()."""

import torch
from torch import nn


def freeze(encoder):
    for parameter in encoder.parameters():
        parameter.requires_grad = False
    for layer in encoder.modules():
        if isinstance(layer, nn.BatchNorm1d):
            layer.eval()


def train_one_epoch(model, optimizer, batches):
    model.train()
    model[0].eval()
    for x, y in batches:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x).squeeze(-1), y)
        loss.backward()
        optimizer.step()
    return loss.item()


torch.manual_seed(0)
encoder = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU())
model = nn.Sequential(encoder, nn.Linear(16, 1))
freeze(encoder)
optimizer = torch.optim.Adam(model[1].parameters(), 1e-2)
batches = [(2 + torch.randn(16, 6), torch.randn(16)) for _ in range(5)]
for _ in range(4):
    last = train_one_epoch(model, optimizer, batches)
print(f"{last:.3f}")
