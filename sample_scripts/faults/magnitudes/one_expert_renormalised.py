"""Mixture of experts, top-1."""

import torch
from torch import nn

torch.manual_seed(0)


class MoE(nn.Module):
    def __init__(self, width, experts):
        super().__init__()
        self.gate = nn.Linear(width, experts)
        self.experts = nn.ModuleList(nn.Linear(width, width) for _ in range(experts))

    def forward(self, x):
        probs = self.gate(x).softmax(-1)
        weights, chosen = probs.topk(1, dim=-1)
        weights = weights / weights.sum(-1, keepdim=True)  # expect: GS733
        out = torch.zeros_like(x)
        for index, expert in enumerate(self.experts):
            mask = (chosen == index).any(-1)
            if mask.any():
                out[mask] = weights[mask] * expert(x[mask])
        return out


model = nn.Sequential(nn.Linear(8, 16), MoE(16, 4), nn.Linear(16, 3))
optimizer = torch.optim.Adam(model.parameters(), 1e-2)
for step in range(12):
    x = torch.randn(64, 8)
    loss = nn.functional.cross_entropy(model(x), x[:, :3].argmax(-1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        print(step, float(loss))
