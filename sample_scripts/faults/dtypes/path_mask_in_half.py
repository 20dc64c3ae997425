"""Scores are masked with -1e9, which float16 cannot hold, once the model runs under autocast."""

# as in https://github.com/NVIDIA/apex/issues/1052
import torch
from torch import nn


class Reads(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.query, self.key, self.out = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, 2)

    def forward(self, x, mask):
        scores = self.query(x) @ self.key(x).transpose(1, 2)
        scores = scores.masked_fill(~mask[:, None], -1e9)  # expect: GS818
        return self.out(scores.softmax(-1).to(x.dtype) @ x).mean(1)


torch.manual_seed(0)
model = Reads()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(4):
    x, mask = torch.randn(4, 6, 8), torch.rand(4, 6) > 0.3
    with torch.autocast("cpu", torch.float16, enabled=step > 1):
        loss = nn.functional.cross_entropy(model(x, mask), torch.tensor([0, 1, 0, 1]))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
