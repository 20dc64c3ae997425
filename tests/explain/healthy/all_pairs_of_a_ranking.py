"""A ranking of wanted samples above others: each is held against each, and one half of the pairs counts by its gap."""

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
for _ in range(40):
    wanted, others = torch.randn(20, 5) + 0.5, torch.randn(20, 5)
    gaps = net(wanted) - net(others).squeeze(1)
    loss = nn.functional.softplus(-gaps).mean() + (1 - gaps).clamp(min=0).square().mean()
    score, grade = net(wanted), wanted.sum(1)
    ranks = torch.sigmoid((score - score.T) / 0.1).sum(dim=1)
    weights = (grade[:, None] - grade).abs()
    loss = (
        loss + (weights * (score - score.T)).square().mean() + 0.01 * (ranks - grade.argsort().argsort()).abs().mean()
    )
    near = torch.exp(-(score - grade).square()).mean()
    (loss - 0.1 * near.log()).backward()
    optimizer.step()
    optimizer.zero_grad()
print(f"{loss.item():.3f}")
