"""A generator of numbers and its critic; each is to have its own optimizer.

As in https://github.com/zhaoyuzhi/deepfillv2/pull/3.
"""

import torch
from torch import nn

torch.manual_seed(0)
generator = nn.Sequential(nn.Linear(2, 12), nn.ReLU(), nn.Linear(12, 1))
critic = nn.Sequential(nn.Linear(1, 12), nn.ReLU(), nn.Linear(12, 1))
optimizers = {
    "generator": torch.optim.Adam(generator.parameters(), lr=1e-3),
    "critic": torch.optim.Adam(critic.parameters(), lr=3e-3),
}
for step in range(16):
    real, drawn = torch.randn(32, 1) + 2, generator(torch.randn(32, 2))
    loss = nn.functional.softplus(-critic(real)).mean() + nn.functional.softplus(critic(drawn.detach())).mean()
    optimizers["critic"].zero_grad()
    loss.backward()
    optimizers["critic"].step()
    fooled = nn.functional.softplus(-critic(drawn)).mean()
    optimizers["generator"].zero_grad()
    fooled.backward()
    optimizers["generator"].step()
print(f"{loss.item():.3f} {fooled.item():.3f}")
