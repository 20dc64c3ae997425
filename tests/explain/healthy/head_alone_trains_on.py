"""A head is trained above an encoder at rest: after each evaluation the head alone is put back into training mode."""

import torch
from torch import nn


class Grader(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.ReLU())
        self.head = nn.Sequential(nn.Dropout(0.1), nn.Linear(8, 2))

    def forward(self, x):
        return self.head(self.encoder(x))


torch.manual_seed(0)
grader = Grader()
grader.encoder.requires_grad_(False).eval()
optimizer = torch.optim.Adam(grader.head.parameters(), lr=0.01)
for step in range(24):
    x = torch.randn(16, 6)
    loss = nn.functional.cross_entropy(grader(x), (x[:, 0] > 0).long())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 6 == 5:
        grader.eval()
        with torch.no_grad():
            print(step, grader(x).argmax(1).float().mean().item())
        grader.head.train()
