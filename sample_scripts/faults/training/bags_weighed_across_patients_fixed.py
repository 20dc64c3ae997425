"""Judges patients by 20 cells each: the attention over a patient's cells was written for one patient.

As in https://github.com/DonkeyShot21/UNO/issues/4.
"""

import torch
from torch import nn


class Pool(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.score = nn.Sequential(nn.Linear(width, 8), nn.Tanh(), nn.Linear(8, 1))

    def forward(self, cells):
        attention = self.score(cells).softmax(-2)
        return (attention * cells).sum(-2)


torch.manual_seed(0)
network = nn.Sequential(nn.Linear(6, 12), nn.ReLU(), Pool(12), nn.Linear(12, 1))
optimizer = torch.optim.Adam(network.parameters(), lr=1e-2)
for step in range(20):
    cells = torch.randn(16, 20, 6)
    ill = (torch.rand(16, 1) < 0.5).float()
    cells[:, 0, 0] += 4 * ill[:, 0]
    loss = nn.functional.binary_cross_entropy_with_logits(network(cells), ill)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{loss.item():.4f}")
