"""A classifier of yes and no, with an activation behind each layer."""
# as in https://discuss.pytorch.org/t/cross-entropy-loss-is-not-decreasing/43814/16

import torch
from torch import nn


class Scores(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(5, 16)
        self.second = nn.Linear(16, 3)

    def forward(self, x):
        return self.second(torch.tanh(self.first(x))).relu()  # expect: GS868


torch.manual_seed(0)
model = Scores()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for _ in range(12):
    x = torch.randn(32, 5)
    loss = nn.functional.binary_cross_entropy_with_logits(model(x), (x[:, :3] > 0).float())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.3f}")
