"""A model that is fine-tuned in evaluation mode on purpose, so that its averages stay as they were measured."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 1))
model.train()
with torch.no_grad():
    for _ in range(8):
        model(torch.randn(64, 4))  # the averages of the data
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for _ in range(4):
    model.eval()
    for _ in range(5):
        x = torch.randn(32, 4)
        loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
print(loss.item() > 0)
