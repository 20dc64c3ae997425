"""Shifts between two signals, refined pass by pass as RAFT does: the estimate is detached, the hidden state is not."""

import torch
from torch import nn

PASSES = 5


class Refine(nn.Module):
    def __init__(self, hidden=24):
        super().__init__()
        self.encode = nn.Linear(17, hidden)
        self.cell = nn.GRUCell(hidden, hidden)
        self.delta = nn.Linear(hidden, 1)
        self.start = nn.Parameter(torch.zeros(hidden))

    def forward(self, first, second):
        hidden, shift = self.start.expand(len(first), -1), torch.zeros(len(first), 1)
        shifts = []
        for _ in range(PASSES):
            shift = shift.detach()
            seen = torch.cat((second - first * (1 + shift), shift), 1)
            hidden = self.cell(torch.relu(self.encode(seen)), hidden)
            shift = shift + self.delta(hidden)
            shifts.append(shift)
        return shifts


torch.manual_seed(0)
model = Refine()
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
for _ in range(40):
    first, wanted = torch.randn(32, 16), torch.rand(32, 1)
    shifts = model(first, first * (1 + wanted))
    loss = sum(0.8 ** (PASSES - at) * (shift - wanted).abs().mean() for at, shift in enumerate(shifts))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(round(loss.item(), 3))
