"""Leaks told from the sounds of a pipe, by a net that ends in a sigmoid and a trainer that takes another."""

import torch
from torch import nn

torch.manual_seed(0)
listener = nn.Sequential(nn.Linear(12, 16), nn.ReLU(), nn.Linear(16, 1), nn.Sigmoid())
optimizer = torch.optim.Adam(listener.parameters(), lr=1e-2)
criterion = nn.BCELoss()
for _ in range(10):
    sounds, leaks = torch.randn(20, 12), torch.randint(2, (20,)).float()
    heard = listener(sounds).squeeze(1)  # expect: GS807 called_at
    loss = criterion(torch.sigmoid(heard), leaks)  # expect: GS807
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
