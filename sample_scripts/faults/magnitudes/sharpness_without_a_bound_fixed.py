"""A learned sharpness multiplies the distance to a centre; one day the centres are others. As in https://github.com/openai/CLIP/pull/530."""

import torch
from torch import nn

torch.manual_seed(0)
centres = nn.Parameter(torch.randn(4, 2))
log_sharpness = nn.Parameter(torch.zeros(()))
optimizer = torch.optim.Adam([{"params": [centres], "lr": 0.05}, {"params": [log_sharpness], "lr": 0.1}])
places = torch.tensor([[2.0, 2.0], [-2.0, 2.0], [2.0, -2.0], [-2.0, -2.0]])
for step in range(120):
    which = torch.randint(0, 4, (64,))
    seen = places[which] + 0.05 * torch.randn(64, 2)
    if step >= 100:
        seen = seen.flip(1) * 1.5
    sharpness = log_sharpness.exp().clamp(max=2)
    distance = (seen[:, None] - centres[None]).square().sum(2)
    nearest = (sharpness * distance).min(1).values
    loss = (nearest - 2 * sharpness.log()).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.1f}")
