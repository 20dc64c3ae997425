"""A classifier whose last layer is followed by the activation of all others."""
# as in https://github.com/Lightning-AI/pytorch-lightning/issues/4862

import torch
from torch import nn


class Scores(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(5, 16)
        self.second = nn.Linear(16, 3)

    def forward(self, x):
        return self.second(torch.relu(self.first(x)))


torch.manual_seed(0)
model = Scores()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for _ in range(12):
    x = torch.randn(32, 5)
    loss = nn.functional.cross_entropy(model(x), x[:, :3].argmax(1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.3f}")
