"""Multi-task weights: the losses are put together in one tensor."""

import torch
from torch import nn

torch.manual_seed(0)


class Tasks(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 16), nn.ReLU())
        self.age, self.size = nn.Linear(16, 1), nn.Linear(16, 1)
        self.log_vars = nn.Parameter(torch.zeros(2))

    def forward(self, x):
        h = self.body(x)
        return self.age(h), self.size(h)


def combine(model, losses):
    stacked = torch.tensor(  # expect: GS721
        list(losses)
    )
    weighted = torch.exp(-model.log_vars) * stacked + model.log_vars
    return weighted.sum()


model = Tasks()
optimizer = torch.optim.Adam(model.parameters(), 0.01)
for step in range(6):
    x = torch.randn(32, 6)
    age, size = model(x)
    losses = [
        nn.functional.mse_loss(age, x[:, :1]),
        nn.functional.mse_loss(size, x[:, 1:2]),
    ]
    total = combine(model, losses)
    optimizer.zero_grad()
    total.backward()
    optimizer.step()
    if step % 10 == 0:
        print(step, float(total))
