"""Truncated BPTT over a long sine wave."""

import torch
from torch import nn

torch.manual_seed(0)


class Memory(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell, self.head = nn.GRUCell(1, 12), nn.Linear(12, 1)

    def forward(self, chunk, h):
        outputs = []
        for value in chunk:
            h = self.cell(value.view(1, 1), h)
            outputs.append(self.head(h))
        return torch.cat(outputs), h


def repackage(h):
    h = h.detach()
    return h


model = Memory()
optimizer = torch.optim.Adam(model.parameters(), 0.01)
wave = torch.sin(torch.arange(0, 60, 0.1))
h = torch.zeros(1, 12)
for start in range(0, 100, 20):
    h = repackage(h)
    outputs, h = model(wave[start : start + 20], h)
    loss = nn.functional.mse_loss(outputs.squeeze(-1), wave[start + 1 : start + 21])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(start, float(loss))
