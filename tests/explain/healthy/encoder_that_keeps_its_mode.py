"""Each epoch begins with train() of the whole model, and the frozen encoder's own train() keeps it at rest."""

import torch
from torch import nn


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(6, 16)
        self.norm = nn.BatchNorm1d(16)
        self.requires_grad_(False)
        self.eval()

    def train(self, mode=True):
        return super().train(False)

    def forward(self, x):
        return torch.relu(self.norm(self.body(x)))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = Encoder()
        self.head = nn.Sequential(nn.Dropout(0.1), nn.Linear(16, 1))

    def forward(self, x):
        return self.head(self.encoder(x)).squeeze(-1)


torch.manual_seed(0)
model = Model()
optimizer = torch.optim.Adam(model.head.parameters(), 1e-2)
batches = [(2 + torch.randn(16, 6), torch.randn(16)) for _ in range(5)]
for _ in range(4):
    model.train()
    for x, y in batches:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
print(f"{loss.item():.3f}")
