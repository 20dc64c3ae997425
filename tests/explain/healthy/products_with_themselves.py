"""Products of a tensor with itself in losses where they belong: of two views, as attention, as an even spread."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
encoder, out = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 8)), nn.Linear(8, 8)
optimizer = torch.optim.Adam([*encoder.parameters(), *out.parameters()], lr=3e-3)
for _ in range(40):
    seen = torch.randn(32, 8)
    first, second = (F.normalize(encoder(seen + 0.3 * torch.randn(32, 8)), dim=1) for _ in range(2))
    found = F.cross_entropy(first @ second.T / 0.2, torch.arange(32))
    spread = (2 * first @ first.T).exp().mean().log()
    mixed = out((first @ first.T / 0.5).softmax(1) @ second)
    kept = F.kl_div(mixed.log_softmax(1), second.detach().softmax(1), reduction="batchmean")
    loss = found + 0.1 * spread + 0.1 * kept
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.3f}")
