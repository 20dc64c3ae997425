"""A mixture of experts: what each expert makes of its tokens is put back, weighted, where the tokens were."""

import torch
from torch import nn


class Mixture(nn.Module):
    def __init__(self, width=8, experts=4, chosen=2):
        super().__init__()
        self.router, self.chosen = nn.Linear(width, experts), chosen
        self.experts = nn.ModuleList(nn.Linear(width, width) for _ in range(experts))

    def forward(self, x):
        weights, picked = self.router(x).softmax(1).topk(self.chosen, 1)
        token = torch.arange(len(x)).repeat_interleave(self.chosen)
        everything = torch.stack([expert(x) for expert in self.experts], 1)
        made = everything[token, picked.flatten()]
        result = torch.zeros_like(x)
        result[token] = result[token] + made * weights.reshape(-1, 1)  # expect: GS852
        return result


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), Mixture(), nn.Linear(8, 1))
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
for step in range(25):
    x = torch.randn(32, 4)
    loss = nn.functional.mse_loss(model(x), x.abs().sum(1, keepdim=True))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.3f}")
