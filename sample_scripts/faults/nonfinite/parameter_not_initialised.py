"""A parameter made with torch.empty, which is whatever the memory held: here NaN, as torch's debugging aid fills it."""

import torch
from torch import nn

torch.use_deterministic_algorithms(True)  # fills fresh memory with NaN
torch.manual_seed(0)


class Scale(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.gain = nn.Parameter(torch.empty(width))

    def forward(self, x):
        return x * self.gain  # expect: GS732


model = nn.Sequential(nn.Linear(4, 4), Scale(4), nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(2):
    loss = model(torch.randn(8, 4)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
