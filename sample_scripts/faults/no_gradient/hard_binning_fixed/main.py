"""A calibration loss over several epochs that bins the confidences."""

import torch
from calibration import expected_error
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
data = TensorDataset(torch.randn(12, 4), torch.randint(2, (12,)).float())


class Calibrated(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 1)
        self.scale = nn.Parameter(torch.ones(1))
        self.bins = nn.Embedding(10, 1)

    def forward(self, x):
        score = torch.sigmoid(self.body(x).squeeze(1) * self.scale)
        return score, self.bins(torch.zeros(len(x), dtype=torch.long)).squeeze(1)


model = Calibrated()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for epoch in range(2):
    for x, y in DataLoader(data, batch_size=6):
        score, offset = model(x)
        loss = expected_error(score, offset, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
